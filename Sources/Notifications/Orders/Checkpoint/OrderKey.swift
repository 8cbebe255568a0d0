import Digests

/// How a checkpoint finds an order of a partition: half of the SHA-256 of its id.
package struct OrderKey: CheckpointKey, Hashable, Comparable, Sendable {
    /// The first 16 bytes of the hash, as numbers that compare like them.
    private let high: UInt64
    private let low: UInt64

    package static let size = 16

    package init(of id: UnsafeRawBufferPointer) {
        (high, low) = SHA256.withHash(of: id) { hash in
            (
                UInt64(bigEndian: hash.load(as: UInt64.self)),
                UInt64(bigEndian: hash.load(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }

    package func write(to target: UnsafeMutableRawPointer) {
        target.storeBytes(of: high.bigEndian, as: UInt64.self)
        target.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
    }

    package static func < (left: OrderKey, right: OrderKey) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}
