import Digests
import StateStore

/// The content of a table as one number, whatever the order and the way in which it was stored.
///
/// The XOR of the SHA-256 of each device's line:
/// `<SHA-256 of the audience, 32 hex digits> <SHA-256 of the token> <kind of the token> <environment> <last seen, ms or -> <app> <token>`.
/// Two tables of one topic with the same offsets have the same digest, and any other client can compute it from the topic.
struct TableDigest {
    private var sum = [UInt8](repeating: 0, count: 32)

    /// - Throws: if an entry is not in this version's format.
    mutating func add(_ entry: StoreEntry) throws(StoreError) {
        guard let device = TableEntry.device(entry, audience: 0), let key = entry.key.baseAddress else {
            throw StoreError(.damaged, SubscriptionTableError.foreign.description)
        }
        let words = [
            String(Hex.string(key).prefix(2 * TableEntry.audienceCount)), Hex.string(device.hashStart),
            device.kind.rawValue, device.environment.rawValue,
            device.lastSeen.map { String($0.milliseconds) } ?? "-", String(decoding: device.app, as: UTF8.self),
            String(decoding: device.token, as: UTF8.self),
        ]
        let line = Array(words.joined(separator: " ").utf8)
        line.withUnsafeBytes { line in
            SHA256.withHash(of: line) { hash in
                for index in sum.indices { sum[index] ^= hash.load(fromByteOffset: index, as: UInt8.self) }
            }
        }
    }

    /// 64 hex digits.
    var text: String {
        sum.withUnsafeBytes { $0.baseAddress.map({ Hex.string($0) }) ?? "" }
    }
}
