import KafkaClient

/// Loads the versions of the subscriptions, and finds the position of the table from which on they are complete.
///
/// A compacted topic loses a version if a newer one of its key is older than `min.compaction.lag.ms`. So the table at a
/// position is exact if nothing was ever lost, or if every record after the position is younger than that.
struct SubscriptionLog {
    private(set) var exactFrom: [Int64]
    private var isWhole: [Bool]
    private var next: [Int64]
    private let starts: [Int64]
    private let youngFrom: WallTime

    /// - Parameters:
    ///   - bounds: of the topic's partitions.
    ///   - youngFrom: records from this time on cannot have been compacted.
    init(bounds: [Int32: Range<Int64>], youngFrom: WallTime) {
        let partitions = (0..<Int32(bounds.count)).map { bounds[$0] ?? 0..<0 }
        starts = partitions.map(\.lowerBound)
        next = starts
        exactFrom = next
        isWhole = partitions.map { $0.lowerBound == 0 }
        self.youngFrom = youngFrom
    }

    /// Takes records in offset order of their partition.
    mutating func note(partition: Int32, offset: Int64, timestamp: WallTime?) {
        let index = Int(partition)
        if offset != next[index] {
            isWhole[index] = false
            // Records are missing after old ones: they may have been old as well.
            if exactFrom[index] >= next[index] { exactFrom[index] = offset }
        }
        if (timestamp ?? .distantPast) < youngFrom { exactFrom[index] = offset + 1 }
        next[index] = offset + 1
    }

    /// Call it after everything up to the ends has been read.
    mutating func finish(bounds: [Int32: Range<Int64>]) {
        for (partition, range) in bounds where next[Int(partition)] < range.upperBound {
            // Transaction markers, or records that were lost.
            isWhole[Int(partition)] = false
            if exactFrom[Int(partition)] >= next[Int(partition)] { exactFrom[Int(partition)] = range.upperBound }
        }
        for index in exactFrom.indices where isWhole[index] { exactFrom[index] = 0 }
    }

    /// Why the table at these positions may have been different; nil: it was not. No positions: those of an empty
    /// table.
    func problem(at known: [Int64], topic: String, lag: Int64?) -> String? {
        let positions = known.isEmpty ? exactFrom.map { _ in 0 } : known
        guard positions.count == exactFrom.count else {
            return "\(topic) has \(exactFrom.count) partitions, and had \(positions.count): keys have moved"
        }
        if let partition = starts.firstIndex(where: { $0 > 0 }) {
            return "\(topic)/\(partition) begins at offset \(starts[partition]): who had subscribed before is not known"
        }
        guard let partition = positions.indices.first(where: { positions[$0] < exactFrom[$0] }) else { return nil }
        let setting = lag.map { "min.compaction.lag.ms=\($0)" } ?? "its compaction"
        return "\(topic)/\(partition): the table stood at offset \(positions[partition]), and \(setting) keeps every "
            + "version only from \(exactFrom[partition]) on: who was subscribed then is no longer known"
    }
}
