import KafkaClient

/// A broadcast as it is in its topic: bytes, not read yet.
package struct BroadcastRecord: Sendable, Equatable {
    package var offset: Int64
    package var timestamp: WallTime?
    package var key: [UInt8]
    package var value: [UInt8]
    package var headers: [RecordHeader]
    /// Why there are no bytes, where it stands for a batch that could not be read.
    package var unreadable: DeadLetter?

    package init(
        offset: Int64, timestamp: WallTime?, key: [UInt8], value: [UInt8], headers: [RecordHeader] = [],
        unreadable: DeadLetter? = nil
    ) {
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.headers = headers
        self.unreadable = unreadable
    }
}

/// What `topic.broadcasts` says at a moment. A copy costs no more than a reference.
package struct BroadcastView: FollowedView {
    /// The newest record of each key, in the order of their offsets. A key whose newest record is a tombstone has none.
    package var records: [BroadcastRecord] = []
    /// Every record below this offset is in the view.
    package var reached: Int64 = 0
    package var freshSince: ContinuousClock.Instant?

    package init() {}

    package init(records: [BroadcastRecord], reached: Int64 = 0, freshSince: ContinuousClock.Instant? = nil) {
        self.records = records
        self.reached = reached
        self.freshSince = freshSince
    }

    /// Whether the record of this offset is there and neither replaced nor cancelled. Takes the logarithm of the records.
    package func isNewest(_ offset: Int64) -> Bool {
        let index = index(of: offset)
        return index < records.count && records[index].offset == offset
    }

    /// The index of the first record that is not below the offset.
    func index(of offset: Int64) -> Int {
        var range = 0..<records.count
        while let middle = range.isEmpty ? nil : (range.lowerBound + range.upperBound) / 2 {
            range =
                records[middle].offset < offset ? (middle + 1)..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }
}
