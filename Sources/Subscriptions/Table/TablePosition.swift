import Events

/// Where a table stands in its topic; stored with the devices, in one transaction.
package struct TablePosition: Equatable, Sendable {
    /// The next offset to read, by partition.
    package var offsets: [Int64]
    /// The last records that were applied, by partition.
    package var records: [RecentFingerprints]
    /// The table holds everything that the topic had then; while it is not whole, when its reading began. By this its
    /// age is judged (kafka-rules 18).
    package var time: EventTime
    /// Whether the table has reached the topic's end since it was last read from the beginning. One that has not lacks
    /// devices, and nobody fans out from it.
    package var isWhole: Bool

    package init(offsets: [Int64], records: [RecentFingerprints], time: EventTime, isWhole: Bool) {
        self.offsets = offsets
        self.records = records
        self.time = time
        self.isWhole = isWhole
    }

    /// Before the first record of a reading that begins at these offsets.
    package static func beginning(at offsets: [Int64], time: EventTime) -> TablePosition {
        TablePosition(
            offsets: offsets, records: offsets.map { _ in RecentFingerprints() }, time: time, isWhole: false)
    }
}
