/// Progress of a ``Reexecution`` in one partition.
final class PartitionRun {
    let span: ReplaySpan
    private var cursor: JournalCursor
    /// The current step, or the next one.
    private(set) var step: JournalStep?
    /// Whether part of ``step`` has been replayed.
    var isBegun = false
    /// The next offset to process.
    var position: Int64
    /// Without a journal: whether a record was processed, and the offset after the last one.
    var hasApproximated = false
    var reached: Int64 = 0

    init(_ span: ReplaySpan, journal: JournalIndex) throws {
        self.span = span
        cursor = try journal.cursor(of: span.partition, in: span.range)
        position = span.foldFrom
        try advance()
    }

    /// Moves to the next step of the lane.
    func advance() throws {
        isBegun = false
        step = nil
        while let (next, lane) = try cursor.next() {
            guard lane == span.lane else { continue }
            step = next
            return
        }
    }
}

/// Records on their way through the core.
final class RecordsAtHand {
    var batch: EventBatch

    init(_ source: SourceKind, topic: String) {
        batch = EventBatch(source, topic: topic)
    }
}
