import Digests
import StateStore

/// What a worker has folded of its partitions, on disk. It only shortens the fold at a start: it is written after the log,
/// and the log alone is enough to rebuild it.
///
/// One store transaction carries the entries that changed and, as the store's checkpoint, the offset of each of their
/// partitions. Many changes take several transactions: from the first to the last, the partitions have no offset, and a
/// start folds them from the log. A key is the partition and the entry's own. What another version or other rules wrote
/// is removed. One owner, on one thread.
package struct FoldCheckpoint: ~Copyable {
    /// The position in the log that a partition's state belongs to.
    package struct Mark: Equatable {
        /// The state covers the records below this offset.
        package var offset: Int64
        var watermark: TimerWatermark
        /// The newest timestamp of a record.
        package var newest: WallTime
        /// The timestamp of the first record of a fold that may be incomplete; 1970 if it is complete.
        package var foldedFrom = WallTime.epoch
        /// The last records below ``offset``.
        package var recent = RecentFingerprints()

        package init(
            offset: Int64, watermark: TimerWatermark, newest: WallTime, foldedFrom: WallTime = .epoch,
            recent: RecentFingerprints = RecentFingerprints()
        ) {
            self.offset = offset
            self.watermark = watermark
            self.newest = newest
            self.foldedFrom = foldedFrom
            self.recent = recent
        }

        package var beginning: FoldBeginning { foldedFrom == .epoch ? .complete : .since(foldedFrom) }
    }

    /// Of the partition.
    private static let prefixSize = 4

    private let store: any OrderedStore
    private let stamp: String
    /// What was found in the store when it was opened.
    package private(set) var marks: [Int32: Mark] = [:]
    /// The id of the cluster that the log is in; nil while no broker has reported it.
    private var cluster: String?
    /// The stored state came from this cluster and was removed.
    package private(set) var foreignCluster: String?

    /// - Parameters:
    ///   - stamp: the version of the entries, and what they depend on besides the log: the topic and the rules.
    ///   - cluster: the cluster's id; nil if the broker does not report it, and then nothing is compared.
    package init(_ store: any OrderedStore, stamp: String, cluster: String?) throws(StoreError) {
        let reader = try store.makeReader()
        try reader.begin()
        let text = try reader.checkpoint().map { String(decoding: $0, as: UTF8.self) }
        let count = try reader.count()
        reader.end()
        var found = text.flatMap { Self.read($0, stamp: stamp) }
        if let stored = found?.cluster, let cluster, stored != cluster {
            foreignCluster = stored
            found = nil
        }
        if found == nil, count > 0 || text != nil {
            try store.write { writer throws(StoreError) in try writer.removeAll() }
        }
        self.store = store
        self.stamp = stamp
        self.cluster = cluster ?? found?.cluster
        marks = found?.marks ?? [:]
    }

    /// Loads a partition's stored entries into a newly begun state.
    ///
    /// - Returns: false if one cannot be read; begin the state again then.
    package func load(
        _ partition: Int32, into states: inout some CheckpointedStates & ~Copyable
    ) throws(StoreError) -> Bool {
        let reader = try store.makeReader()
        try reader.begin()
        defer { reader.end() }
        for entry in try Self.entries(of: partition, reader) {
            let key = UnsafeRawBufferPointer(rebasing: entry.key.dropFirst(Self.prefixSize))
            guard states.load(key, entry.value, into: partition) else { return false }
        }
        return true
    }

    /// Removes the stored state of a partition.
    package mutating func remove(_ partition: Int32) throws(StoreError) {
        let reader = try store.makeReader()
        try reader.begin()
        defer { reader.end() }
        let entries = try Self.entries(of: partition, reader)
        guard marks[partition] != nil || !entries.isEmpty else { return }
        var left = marks
        left[partition] = nil
        try store.write { writer throws(StoreError) in
            for entry in entries { try writer.remove(entry.key) }
            try write(left, with: writer)
        }
        marks = left
    }

    /// Writes what changed since the last write. Call it only while the state has no open transaction.
    ///
    /// - Parameters:
    ///   - marks: the partitions in the state; the stored state of all others stays.
    ///   - limit: the most entries to write, which bounds the time of one call; the next call writes the rest.
    /// - Returns: whether everything has been written.
    /// - Throws: the store is then unchanged and lacks these changes: do not write to it again.
    @discardableResult
    package mutating func save<States: CheckpointedStates & ~Copyable>(
        _ marks: [Int32: Mark], of states: inout States, limit: Int = .max
    ) throws(StoreError) -> Bool {
        var all = self.marks.merging(marks) { $1 }
        guard all != self.marks else { return true }
        var buffer = [UInt8](repeating: 0, count: Self.prefixSize + States.Key.size)
        var left = limit
        try store.write { writer throws(StoreError) in
            for partition in marks.keys {
                let taken = try states.takeChanges(of: partition, limit: left) { key, value throws(StoreError) in
                    try Self.withKey(key, in: partition, buffer: &buffer) { key throws(StoreError) in
                        if let value {
                            try writer.put(key, value)
                        } else {
                            try writer.remove(key)
                        }
                    }
                }
                left -= taken
            }
            // Until the rest is stored too, the stored state belongs to no offset.
            if left == 0 { all = all.filter { marks[$0.key] == nil } }
            try write(all, with: writer)
        }
        self.marks = all
        return left > 0
    }

    private static func entries(of partition: Int32, _ reader: any StoreReader) throws(StoreError) -> [StoreEntry] {
        var entries: [StoreEntry] = []
        let result = withUnsafeBytes(of: UInt32(bitPattern: partition).bigEndian) { prefix in
            Result { () throws(StoreError) in try reader.append(startingWith: prefix, limit: .max, to: &entries) }
        }
        try result.get()
        return entries
    }

    private static func withKey(
        _ entry: some CheckpointKey, in partition: Int32, buffer: inout [UInt8],
        _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        let result = buffer.withUnsafeMutableBytes { key in
            key.storeBytes(of: UInt32(bitPattern: partition).bigEndian, as: UInt32.self)
            entry.write(to: key.baseAddress! + Self.prefixSize)
            return Result { () throws(StoreError) in try body(UnsafeRawBufferPointer(key)) }
        }
        try result.get()
    }

    private func write(_ marks: [Int32: Mark], with writer: any StoreWriter) throws(StoreError) {
        var lines = [stamp, "cluster \(cluster ?? "-")"]
        for (partition, mark) in marks.sorted(by: { $0.key < $1.key }) {
            lines.append(
                "\(partition) \(mark.offset) \(mark.watermark.time.milliseconds) \(mark.watermark.splitText ?? "-") "
                    + "\(mark.newest.milliseconds) \(mark.foldedFrom.milliseconds) \(mark.recent.text)")
        }
        let result = Array(lines.joined(separator: "\n").utf8).withUnsafeBytes { bytes in
            Result { () throws(StoreError) in try writer.setCheckpoint(bytes) }
        }
        try result.get()
    }

    /// Nil if it was written by another version, for another topic or with other rules.
    private static func read(_ text: String, stamp: String) -> (cluster: String?, marks: [Int32: Mark])? {
        let lines = text.split(separator: "\n")
        guard lines.count >= 2, lines[0] == stamp, lines[1].hasPrefix("cluster ") else { return nil }
        let cluster = lines[1].dropFirst("cluster ".count)
        var marks: [Int32: Mark] = [:]
        for line in lines.dropFirst(2) {
            let words = line.split(separator: " ", maxSplits: 6, omittingEmptySubsequences: false)
            guard words.count == 7, let partition = Int32(words[0]), let offset = Int64(words[1]),
                let time = Int64(words[2]), let newest = Int64(words[4]), let foldedFrom = Int64(words[5]),
                let recent = RecentFingerprints(words[6])
            else { return nil }
            let watermark = TimerWatermark(WallTime(milliseconds: time), split: StoredHash(words[3])?.number)
            marks[partition] = Mark(
                offset: offset, watermark: watermark, newest: WallTime(milliseconds: newest),
                foldedFrom: WallTime(milliseconds: foldedFrom), recent: recent)
        }
        return (cluster == "-" ? nil : String(cluster), marks)
    }
}
