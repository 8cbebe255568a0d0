/// What the table stores about itself, in the same transaction as the devices.
struct TableCheckpoint: Equatable {
    var topic: String
    /// The cluster's id; nil if the broker does not report it.
    var cluster: String?
    var position: TablePosition

    private enum Layout {
        static let version = 0
        static let isWhole = 1
        static let time = 2
        static let count = 10
        static let offsets = 18
    }

    init(topic: String, cluster: String?, position: TablePosition) {
        self.topic = topic
        self.cluster = cluster
        self.position = position
    }

    /// Version, completeness, time, number of partitions and offsets as little-endian numbers; then lines of text:
    /// topic, cluster, the unreadable partitions, and the fingerprints of each partition.
    func encoded() -> [UInt8] {
        var bytes: [UInt8] = [TableEntry.version, position.isWhole.code]
        bytes.append(littleEndian: UInt64(bitPattern: position.time.milliseconds))
        bytes.append(littleEndian: UInt64(position.offsets.count))
        for offset in position.offsets {
            bytes.append(littleEndian: UInt64(bitPattern: offset))
        }
        let unreadable = position.unreadable.map(String.init).joined(separator: " ")
        let lines = [topic, cluster ?? "", unreadable] + position.records.map(\.text)
        bytes.append(contentsOf: lines.joined(separator: "\n").utf8)
        return bytes
    }

    /// Nil if another version wrote it.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var offsets: [Int64] = []
        guard let isWhole = Self.readHead(bytes, into: &offsets) else { return nil }
        let lines = String(decoding: bytes[(Layout.offsets + offsets.count * 8)...], as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 3 + offsets.count else { return nil }
        let partitions = lines[2].split(separator: " ")
        let unreadable = partitions.compactMap { Int32($0) }
        guard unreadable.count == partitions.count else { return nil }
        var records: [RecentFingerprints] = []
        for line in lines[3...] {
            guard let fingerprints = RecentFingerprints(line) else { return nil }
            records.append(fingerprints)
        }
        topic = String(lines[0])
        cluster = lines[1].isEmpty ? nil : String(lines[1])
        position = TablePosition(
            offsets: offsets, records: records,
            time: WallTime(milliseconds: Self.number(bytes, at: Layout.time)), isWhole: isWhole, unreadable: unreadable)
    }

    /// Reads only the offsets, into memory that is reused.
    ///
    /// - Returns: whether the table is complete; nil for another version.
    static func readHead(_ bytes: UnsafeRawBufferPointer, into offsets: inout [Int64]) -> Bool? {
        guard bytes.count >= Layout.offsets, bytes[Layout.version] == TableEntry.version,
            let isWhole = Bool(code: bytes[Layout.isWhole])
        else { return nil }
        let count = Int(number(bytes, at: Layout.count))
        guard count >= 0, count <= (bytes.count - Layout.offsets) / 8 else { return nil }
        offsets.removeAll(keepingCapacity: true)
        for index in 0..<count {
            offsets.append(number(bytes, at: Layout.offsets + index * 8))
        }
        return isWhole
    }

    private static func number(_ bytes: UnsafeRawBufferPointer, at byteOffset: Int) -> Int64 {
        Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: byteOffset, as: Int64.self))
    }
}

extension [UInt8] {
    fileprivate mutating func append(littleEndian number: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) {
            append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }
}
