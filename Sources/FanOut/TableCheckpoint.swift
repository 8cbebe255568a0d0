import Extraction

/// What the table stores about itself, in the same transaction as the devices.
struct TableCheckpoint: Equatable {
    var topic: String
    /// When the offsets below were what the topic had to give.
    var time: EventTime
    /// The next offset to read, by partition.
    var offsets: [Int64]

    /// Version, time, number of partitions, offsets, topic; little-endian.
    func encoded() -> [UInt8] {
        var bytes: [UInt8] = [TableEntry.version]
        bytes.append(littleEndian: UInt64(bitPattern: time.milliseconds))
        bytes.append(littleEndian: UInt64(offsets.count))
        for offset in offsets {
            bytes.append(littleEndian: UInt64(bitPattern: offset))
        }
        bytes.append(contentsOf: topic.utf8)
        return bytes
    }

    init(topic: String, time: EventTime, offsets: [Int64]) {
        self.topic = topic
        self.time = time
        self.offsets = offsets
    }

    /// Nil where another version wrote it.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var offsets: [Int64] = []
        guard let end = Self.readOffsets(bytes, into: &offsets) else { return nil }
        topic = String(decoding: bytes[end...], as: UTF8.self)
        time = EventTime(milliseconds: Self.number(bytes, at: 1))
        self.offsets = offsets
    }

    /// Reads the offsets alone into memory that is used again; returns where they end, nil for another version.
    @discardableResult
    static func readOffsets(_ bytes: UnsafeRawBufferPointer, into offsets: inout [Int64]) -> Int? {
        guard bytes.count >= 17, bytes[0] == TableEntry.version else { return nil }
        let count = Int(number(bytes, at: 9))
        guard count >= 0, count <= (bytes.count - 17) / 8 else { return nil }
        offsets.removeAll(keepingCapacity: true)
        for index in 0..<count {
            offsets.append(number(bytes, at: 17 + index * 8))
        }
        return 17 + count * 8
    }

    private static func number(_ bytes: UnsafeRawBufferPointer, at place: Int) -> Int64 {
        Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: Int64.self))
    }
}

extension [UInt8] {
    fileprivate mutating func append(littleEndian number: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) {
            append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }
}
