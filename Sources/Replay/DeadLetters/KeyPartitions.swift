import KafkaClient

/// Which partition of the events a key has now, where partitions may have been added since an event stood in the log.
///
/// No log says when that was: the first record of the youngest partition came after it, and so did whatever is not older.
/// Where those records stand tells whether producers choose the partition as Kafka's Java clients do, by murmur2. Without any,
/// they are taken to.
struct KeyPartitions {
    private let count: Int32
    /// The time of the first record of the youngest partition, in milliseconds since 1970: what is not older came when there
    /// were as many partitions as now. `.min`: all are older than the log; `.max`: one has no record yet.
    private let youngest: Int64
    /// Partitions whose newest record is of a key that murmur2 puts elsewhere.
    private var strays: Set<Int32> = []

    /// - Parameters:
    ///   - bounds: of the events' partitions.
    ///   - firsts: the times of the first records of those that have lost none; a partition without a record is not in it.
    init(bounds: [Int32: Range<Int64>], firsts: [Int32: Int64]) {
        count = Int32(clamping: bounds.count)
        let young = bounds.filter { $0.value.lowerBound == 0 }.map { firsts[$0.key] ?? .max }
        // Where there is one partition, none was added.
        youngest = bounds.count > 1 ? young.max() ?? .min : .min
    }

    /// Takes a record as its producer wrote it, by partition in the order of the log.
    mutating func note(partition: Int32, key: UnsafeRawBufferPointer, time: Int64) {
        guard time >= youngest else { return }
        if Murmur2.partition(of: key, count: count) == partition {
            strays.remove(partition)
        } else {
            strays.insert(partition)
        }
    }

    /// Whether there may have been fewer partitions at a time, in milliseconds since 1970.
    func mayHaveGrown(since time: Int64) -> Bool { time < youngest }

    /// The partition that an event goes to; nil where that cannot be told.
    ///
    /// - Parameters:
    ///   - stood: the partition where it stood.
    ///   - time: of its record, in milliseconds since 1970.
    func home(of key: [UInt8]?, stood: Int32, at time: Int64) -> Int32? {
        guard let key, mayHaveGrown(since: time) else { return stood }
        let home = Murmur2.partition(of: key, count: count)
        return home == stood || strays.isEmpty ? home : nil
    }
}
