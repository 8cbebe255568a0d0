import Hosting
import KafkaClient

@testable import Streaming

/// Copies each record to its first output, and notes what is asked of it.
struct CopyingTenant: ~Copyable, Tenant {
    final class Notes {
        var calls: [String] = []
        /// What the next calls of ``consider(_:)``, ``act(_:)`` and ``tend()`` do.
        var failure: (any Error)?
        var keepsPosition = true
        var refusals = 0
        var heard = 0
        var written: [[UInt8]] = []
        var unwanted: Set<Int> = []
        /// How many records are taken at once.
        var room = Int.max
        var isOverAtTheEnd = true
        /// How long it may take to let go, and whether it has.
        var letsGoWithin: Duration?
        /// What ``consider(_:)`` says.
        var locatesAgain = true
        /// How often its records were forgotten.
        var forgotten = 0
        /// Between ``willRead()`` and ``didRead(_:)``; and whether it had something to do there.
        var isReading = false
        var hasWorkedWhileReading = false
        var again: [TopicPartition: Offset] = [:]
        var hasLetGo = true
        /// Written by the next ``finish(_:)``.
        var answers: [[UInt8]] = []
    }

    let transaction: Transaction
    let notes: Notes
    private var committedUpTo: [TopicPartition: Int64] = [:]
    private var next: [TopicPartition: Int64] = [:]

    init(_ transaction: Transaction, _ notes: Notes) {
        self.transaction = transaction
        self.notes = notes
    }

    mutating func locate(_ found: inout Findings, _ member: inout any MemberClient & ~Copyable) -> Locating {
        notes.calls.append("locate")
        var starts: [TopicPartition: Start] = [:]
        for (partition, start) in found.starts {
            let offset = found.committed[partition]?.offset ?? start
            next[partition] = offset.value
            starts[partition] = Start(offset, restores: 0, upTo: 0)
        }
        committedUpTo = next
        return .starts(starts)
    }

    mutating func letGo(isLast: Bool) -> Duration? {
        if !notes.hasLetGo { notes.calls.append("letGo") }
        return notes.letsGoWithin
    }

    var hasLetGo: Bool { notes.hasLetGo }

    mutating func hear(_ now: WallTime, isClockRight: Bool) {
        notes.heard += 1
        if notes.isReading { notes.hasWorkedWhileReading = true }
    }

    mutating func restore(_ batch: borrowing RecordBatch) {}
    mutating func restored() {}
    func position(_ partition: TopicPartition) -> Int64? { next[partition] }

    mutating func forgetRecords() { notes.forgotten += 1 }
    mutating func willRead() { notes.isReading = true }
    mutating func didRead(_ bytes: Int) { notes.isReading = false }
    mutating func takeBack() -> [TopicPartition: Offset] { notes.again }

    mutating func release(_ reason: Release) {
        notes.calls.append("release")
        next.removeAll()
    }

    mutating func act(_ time: TransactionTime) throws -> Bool {
        if let failure = notes.failure { throw failure }
        return false
    }

    func wants(_ input: Int) -> Bool { !notes.unwanted.contains(input) }

    mutating func take(
        _ batch: borrowing RecordBatch, from first: Int, of input: Int, _ time: TransactionTime
    ) throws -> Int {
        for index in first..<batch.count {
            if index - first == notes.room { return index }
            let value = Array(batch[index].value ?? UnsafeRawBufferPointer(start: nil, count: 0))
            try transaction.write(ProducerRecord(key: nil, value: value), to: 0)
            notes.written.append(value)
            next[TopicPartition(topic: batch[index].topic, partition: batch[index].partition)] = batch[index].offset + 1
        }
        return batch.count
    }

    mutating func reached(_ offset: Int64, of partition: TopicPartition) { next[partition] = offset }
    func mustCommit(isOpen: Bool) -> Bool { !notes.answers.isEmpty }

    mutating func finish(_ time: TransactionTime) throws -> [TopicPartition: CommittedOffset]? {
        notes.calls.append("finish")
        for value in notes.answers { try transaction.write(ProducerRecord(key: nil, value: value), to: 0) }
        return next.isEmpty ? nil : next.mapValues { CommittedOffset(offset: Offset($0), metadata: "") }
    }

    mutating func committed() {
        notes.calls.append("committed")
        notes.answers = []
        committedUpTo = next
    }

    mutating func aborted() {
        notes.calls.append("aborted")
        next = committedUpTo
    }

    mutating func refused(_ refusal: Remedy.Refusal) throws(PipelineError) {
        notes.refusals += 1
        if notes.refusals == 2 { throw .refused(refusal) }
    }

    mutating func tend() -> Bool { notes.keepsPosition }

    func consider(_ error: any Error) throws(PipelineError) -> Bool {
        notes.calls.append("consider")
        return notes.locatesAgain
    }
    func overtaken(_ error: KafkaError) -> PipelineError? {
        notes.isOverAtTheEnd ? .decisionNeeded("overtaken") : nil
    }
    func clockRecord() -> (record: ProducerRecord, output: Int) { (ProducerRecord(key: nil, value: []), 0) }
    var patience: Duration { .milliseconds(50) }
    func report(_ state: WorkerState, lag: [TopicPartition: Int]?) {}
}
