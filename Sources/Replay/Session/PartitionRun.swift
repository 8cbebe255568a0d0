import Events
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
    private let copies = ByteCopies()

    init(topic: String) {
        batch = EventBatch(topic: topic)
    }

    /// Adds a record with bytes of its own.
    ///
    /// - Parameter headers: of the batch that it comes from.
    func hold(_ record: EventRecord, headers: [EventHeader]) {
        var record = record
        let first = batch.headers.count
        for header in headers[record.headers] {
            batch.headers.append(EventHeader(name: copies.copy(header.name), value: header.value.map(copies.copy)))
        }
        record.headers = first..<batch.headers.count
        record.key = record.key.map(copies.copy)
        record.value = record.value.map(copies.copy)
        batch.records.append(record)
    }

    /// Forgets the records and gives their bytes up.
    func removeAll() {
        batch.removeAll()
        copies.removeAll()
    }
}

/// Copies of bytes, which stay where they are until they are given up.
final class ByteCopies {
    private var runs: [UnsafeMutableRawBufferPointer] = []

    deinit {
        for run in runs { run.deallocate() }
    }

    func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let run = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
        run.copyMemory(from: bytes)
        runs.append(run)
        return UnsafeRawBufferPointer(rebasing: run[..<bytes.count])
    }

    func copy(_ bytes: [UInt8]) -> UnsafeRawBufferPointer { bytes.withUnsafeBytes { copy($0) } }

    func removeAll() {
        for run in runs { run.deallocate() }
        runs.removeAll(keepingCapacity: true)
    }
}
