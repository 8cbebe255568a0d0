/// The partitioner of Java clients.
public enum Murmur2 {
    /// The hash as Java's signed number.
    public static func hash(_ key: some Sequence<UInt8>) -> Int32 { 0 }

    /// The partition of a key among `count`, as Java clients choose it. A record without a key has none.
    public static func partition(of key: some Sequence<UInt8>, count: Int32) -> Int32 { 0 }
}
