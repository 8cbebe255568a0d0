/// The partitioner of Java clients, and of `kcat -X partitioner=murmur2_random`.
public enum Murmur2 {
    /// MurmurHash2 with Kafka's seed, as Java's signed number. Source: `org.apache.kafka.common.utils.Utils.murmur2`.
    public static func hash(_ key: some Sequence<UInt8>) -> Int32 {
        if let hash = key.withContiguousStorageIfAvailable({ hash(of: UnsafeRawBufferPointer($0)) }) { return hash }
        return Array(key).withUnsafeBytes { hash(of: $0) }
    }

    /// The partition of a key among `count` (at least 1), as Java clients choose it. A record without a key has none;
    /// an empty key has one.
    public static func partition(of key: some Sequence<UInt8>, count: Int32) -> Int32 {
        (hash(key) & Int32.max) % max(count, 1)
    }

    package static func partition(of key: UnsafeRawBufferPointer, count: Int) -> Int32 {
        (hash(of: key) & Int32.max) % Int32(clamping: max(count, 1))
    }

    package static func hash(of key: UnsafeRawBufferPointer) -> Int32 {
        let multiplier: UInt32 = 0x5bd1_e995
        var hash: UInt32 = 0x9747_b28c ^ UInt32(truncatingIfNeeded: key.count)
        var index = 0
        while index + 4 <= key.count {
            var word = UInt32(littleEndian: key.loadUnaligned(fromByteOffset: index, as: UInt32.self))
            word &*= multiplier
            word ^= word >> 24
            word &*= multiplier
            hash = (hash &* multiplier) ^ word
            index += 4
        }
        var shift: UInt32 = 0
        if index < key.count {
            while index < key.count {
                hash ^= UInt32(key[index]) << shift
                shift += 8
                index += 1
            }
            hash &*= multiplier
        }
        hash ^= hash >> 13
        hash &*= multiplier
        hash ^= hash >> 15
        return Int32(bitPattern: hash)
    }
}
