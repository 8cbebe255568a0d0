import KafkaClient

/// The partition of the events topic that a key has now, if partitions may have been added since an event was written.
///
/// The log does not record when that was. It was before the first record of the youngest partition, so an event that is
/// at least as young as that record was written afterwards. The partitions of those records show whether producers choose
/// the partition as Kafka's Java clients do, by murmur2. Without any record, murmur2 is assumed.
struct KeyPartitions {
    private let count: Int32
    /// The time of the first record of the youngest partition: events from then on were written with today's number of
    /// partitions. The distant past: all are older than the log; the distant future: one has no record yet.
    private let youngest: WallTime
    /// Partitions whose newest record has a key that murmur2 assigns to another partition.
    private var strays: Set<Int32> = []

    /// - Parameters:
    ///   - bounds: of the events' partitions.
    ///   - firsts: the times of the first records of partitions that have lost none; a partition without records is
    ///     missing.
    init(bounds: [Int32: Range<Int64>], firsts: [Int32: WallTime]) {
        count = Int32(clamping: bounds.count)
        let young = bounds.filter { $0.value.lowerBound == 0 }.map { firsts[$0.key] ?? .distantFuture }
        // A single partition was never added to.
        youngest = bounds.count > 1 ? young.max() ?? .distantPast : .distantPast
    }

    /// Takes a record as its producer wrote it, in offset order of its partition.
    mutating func note(partition: Int32, key: UnsafeRawBufferPointer, time: WallTime) {
        guard time >= youngest else { return }
        if Murmur2.partition(of: key, count: count) == partition {
            strays.remove(partition)
        } else {
            strays.insert(partition)
        }
    }

    /// Whether the topic may have had fewer partitions at a time.
    func mayHaveGrown(since time: WallTime) -> Bool { time < youngest }

    /// The partition that an event is written to; nil if it cannot be determined.
    ///
    /// - Parameters:
    ///   - stood: the original partition.
    ///   - time: of its record.
    func home(of key: [UInt8]?, stood: Int32, at time: WallTime) -> Int32? {
        guard let key, mayHaveGrown(since: time) else { return stood }
        let home = Murmur2.partition(of: key, count: count)
        return home == stood || strays.isEmpty ? home : nil
    }
}
