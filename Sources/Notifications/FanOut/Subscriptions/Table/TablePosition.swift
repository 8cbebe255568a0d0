/// The position of a table in its topic, stored with the devices in one transaction.
package struct TablePosition: Equatable, Sendable {
    /// The next offset to read, by partition.
    package var offsets: [Int64]
    /// The last records applied, by partition.
    package var records: [RecentFingerprints]
    /// When the table had everything in the topic; while the table is incomplete, when its reading began. The table's
    /// age is measured from this (docs/kafka.md 18).
    package var time: WallTime
    /// Whether the table has reached the topic's end since it was last read from the beginning. A table that has not
    /// lacks devices, and fan-out does not use it.
    package var isWhole: Bool
    /// The partitions in which a batch could not be read since the table was last read from the beginning, ascending: it
    /// may lack a change that was in it.
    package var unreadable: [Int32] = []

    /// The position before the first record, of a table to be read from these offsets.
    package static func beginning(at offsets: [Int64], time: WallTime) -> TablePosition {
        TablePosition(
            offsets: offsets, records: offsets.map { _ in RecentFingerprints() }, time: time, isWhole: false)
    }
}
