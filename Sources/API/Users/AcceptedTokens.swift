import Digests

/// The hashes of the tokens that were accepted last, so that their signatures are verified once.
struct AcceptedTokens {
    /// SHA-256 of the whole token: no other text of the same claims has it.
    struct Hash: Hashable {
        private var first: UInt64 = 0
        private var second: UInt64 = 0
        private var third: UInt64 = 0
        private var fourth: UInt64 = 0

        init(_ token: [UInt8]) {
            token.withUnsafeBytes { token in
                withUnsafeMutablePointer(to: &self) { SHA256.hash(token, into: $0) }
            }
        }
    }

    private let most: Int
    private(set) var known: Set<Hash> = []
    /// In the order of their first use, from `oldest` on around the end.
    private(set) var order: [Hash] = []
    private var oldest = 0

    init(most: Int) {
        self.most = most
    }

    func contains(_ hash: Hash) -> Bool { known.contains(hash) }

    /// Beyond `most` the one that was first used the longest ago leaves.
    mutating func insert(_ hash: Hash) {
        guard !known.contains(hash) else { return }
        if order.isEmpty { order.reserveCapacity(most) }
        if order.count < most {
            order.append(hash)
        } else {
            known.remove(order[oldest])
            order[oldest] = hash
            oldest = (oldest + 1) % most
        }
        known.insert(hash)
    }
}
