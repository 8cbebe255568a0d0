import KafkaClient

/// The coordinates of a record in a topic that the context names. Those of an event or a request are
/// ``EventCoordinates``.
package struct Coordinates: Hashable, Sendable {
    package var partition: Int32
    package var offset: Int64

    package init(partition: Int32, offset: Int64) {
        self.partition = partition
        self.offset = offset
    }

    package func position(in topic: String) -> RecordPosition { RecordPosition(topic, partition, offset) }
}

extension SourcePartition {
    /// In 32 bits that sort as partitions do: 2 for the source, 30 for the number.
    var bits: UInt32 { UInt32(source.rawValue) << 30 | UInt32(bitPattern: number) & (1 << 30 - 1) }

    /// From ``bits``.
    init(bits: UInt32) {
        self.init(SourceKind(rawValue: UInt8(bits >> 30)) ?? .orders, Int32(bits & (1 << 30 - 1)))
    }

    /// For a person.
    var name: String {
        switch source {
        case .orders: "partition \(number)"
        case .requests: "partition \(number) of the requests"
        }
    }
}

extension EventCoordinates {
    /// Sort key: by partition, then by offset.
    var bytes: [UInt8] {
        withUnsafeBytes(of: partition.bits.bigEndian) { Array($0) }
            + withUnsafeBytes(of: UInt64(bitPattern: offset).bigEndian) { Array($0) }
    }

    /// From ``bytes``; anything after them is ignored.
    init(decoding bytes: UnsafeRawBufferPointer) {
        let offset = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt64.self))
        self.init(
            SourcePartition(bits: UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self))),
            offset: Int64(bitPattern: offset))
    }
}

extension Dictionary where Key == Int32 {
    /// The same by partition of a source.
    func keyed(by source: SourceKind) -> [SourcePartition: Value] {
        [SourcePartition: Value](uniqueKeysWithValues: map { (SourcePartition(source, $0.key), $0.value) })
    }
}

extension Dictionary where Key == SourcePartition {
    /// Those of a source, by the number of the partition.
    func numbers(of source: SourceKind) -> [Int32: Value] {
        [Int32: Value](uniqueKeysWithValues: filter { $0.key.source == source }.map { ($0.key.number, $0.value) })
    }
}
