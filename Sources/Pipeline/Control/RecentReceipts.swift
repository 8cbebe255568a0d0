import Notifications

/// The receipts of late, so that one that comes again is known.
package struct RecentReceipts: Sendable {
    package static let most = 200_000

    private var known: Set<Hash128> = []
    private var order: [Hash128] = []
    /// The next one of `order` that leaves.
    private var next = 0

    package init() {}

    package func contains(_ receipt: Receipt) -> Bool { known.contains(Self.hash(receipt)) }

    /// - Returns: whether it was not there.
    @discardableResult
    package mutating func insert(_ receipt: Receipt) -> Bool {
        let hash = Self.hash(receipt)
        guard known.insert(hash).inserted else { return false }
        guard order.count == Self.most else {
            order.append(hash)
            return true
        }
        known.remove(order[next])
        order[next] = hash
        next = (next + 1) % Self.most
        return true
    }

    private static func hash(_ receipt: Receipt) -> Hash128 {
        Hash128("\(receipt.device) \(receipt.kind.rawValue) \(receipt.messageID)")
    }
}
