import Extraction
import Pipeline
import StateStore

/// How far a ``Reexecution`` is in one partition.
final class PartitionRun {
    let span: ReplaySpan
    private var cursor: JournalCursor
    /// The step that is done, or the next one.
    private(set) var step: JournalStep?
    /// Whether some of ``step`` has been done.
    var isBegun = false
    /// The next offset that is taken.
    var position: Int64
    /// Where rules look at whole transactions, the records of the step so far, with bytes of their own.
    let held: RecordsAtHand?
    /// Without a journal: whether a record was done, and the offset behind the last one.
    var hasApproximated = false
    var reached: Int64 = 0

    /// - Parameter topic: of the events, where whole transactions are to be held; else nil.
    init(_ span: ReplaySpan, journal: JournalIndex, holding topic: String?) throws(StoreError) {
        self.span = span
        cursor = try journal.cursor(of: span.partition, in: span.range)
        position = span.foldFrom
        held = topic.map(RecordsAtHand.init)
        try advance()
    }

    /// Goes on to the next step of the lane.
    func advance() throws(StoreError) {
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
    private var copies: [UnsafeMutableRawBufferPointer] = []

    init(topic: String) {
        batch = EventBatch(topic: topic)
    }

    deinit {
        for copy in copies { copy.deallocate() }
    }

    /// Adds a record with bytes of its own.
    ///
    /// - Parameter headers: of the batch that it comes from.
    func hold(_ record: EventRecord, headers: [EventHeader]) {
        var record = record
        let first = batch.headers.count
        for header in headers[record.headers] {
            batch.headers.append(EventHeader(name: copy(header.name), value: header.value.map(copy)))
        }
        record.headers = first..<batch.headers.count
        record.key = record.key.map(copy)
        record.value = record.value.map(copy)
        batch.records.append(record)
    }

    /// Forgets the records and gives their bytes up.
    func removeAll() {
        batch.removeAll()
        for copy in copies { copy.deallocate() }
        copies.removeAll(keepingCapacity: true)
    }

    private func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
        copy.copyMemory(from: bytes)
        copies.append(copy)
        return UnsafeRawBufferPointer(rebasing: copy[..<bytes.count])
    }
}
