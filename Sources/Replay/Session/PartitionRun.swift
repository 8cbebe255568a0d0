import Events
import Pipeline
import StateStore

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
    /// If rules look at whole transactions: copies of the step's records so far.
    let held: RecordsAtHand?
    /// Without a journal: whether a record was processed, and the offset after the last one.
    var hasApproximated = false
    var reached: Int64 = 0

    /// - Parameter held: where whole transactions are to be held; nil: they are not.
    init(_ span: ReplaySpan, journal: JournalIndex, holding held: RecordsAtHand?) throws(StoreError) {
        self.span = span
        cursor = try journal.cursor(of: span.partition, in: span.range)
        position = span.foldFrom
        self.held = held
        try advance()
    }

    /// Moves to the next step of the lane.
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

    init(_ source: SourceKind, topic: String) {
        batch = EventBatch(source, topic: topic)
    }

    /// Adds a copy of a record.
    ///
    /// - Parameter headers: of its batch.
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

    /// Removes the records and frees their memory.
    func removeAll() {
        batch.removeAll()
        copies.removeAll()
    }
}

/// Copies of bytes, whose addresses are stable until they are freed.
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
