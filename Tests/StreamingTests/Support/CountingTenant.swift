import Hosting
import KafkaClient
import KafkaSimulation

@testable import Streaming

/// Copies each record to the same partition of its output, with its offset and how many came before it: what it counts is
/// restored from below the committed offset, back to the position that the offset's metadata names.
struct CountingTenant: ~Copyable, Tenant {
    private struct Stand {
        var next: Int64
        var count: Int
        /// From where on its records are counted again, and how many came before that.
        var restoresFrom: Int64
        var countBefore: Int

        var metadata: String { "\(restoresFrom) \(countBefore)" }
    }

    private struct Damaged: Error {}

    private let transaction: Transaction
    private let baton: Baton
    private var stands: [TopicPartition: Stand] = [:]
    private var committedStands: [TopicPartition: Stand] = [:]
    private var room = 0
    private var isFull = false
    /// Whether the worker has looked at what it needs, in this round; whether a transaction is used; whether it began
    /// elsewhere.
    private var hasLooked = false
    private var isUsed = false
    private var isBegunLate = false

    init(_ transaction: Transaction, _ baton: Baton) {
        self.transaction = transaction
        self.baton = baton
    }

    mutating func refresh(isIdle: Bool) -> Bool {
        hasLooked = !baton.isOne(of: 50)
        if isIdle { isUsed = false }
        return hasLooked
    }

    private mutating func use() {
        if !isUsed, !hasLooked { isBegunLate = true }
        isUsed = true
    }

    mutating func locate(_ found: inout Findings, _ member: inout any MemberClient & ~Copyable) -> Locating {
        if baton.isOne(of: 10) { return .later }
        stands = [:]
        var starts: [TopicPartition: Start] = [:]
        for partition in found.starts.keys {
            guard let committed = found.committed[partition] else {
                let start = found.starts[partition]?.value ?? 0
                stands[partition] = Stand(next: start, count: 0, restoresFrom: start, countBefore: 0)
                starts[partition] = Start(Offset(start), restores: 0, upTo: 0)
                continue
            }
            let words = committed.metadata.split(separator: " ").compactMap { Int($0) }
            guard words.count == 2 else { continue }
            // What it counts begins below, and goes up to the committed offset.
            stands[partition] = Stand(
                next: committed.offset.value, count: words[1], restoresFrom: Int64(words[0]), countBefore: words[1])
            starts[partition] = Start(committed.offset, restores: Int64(words[0]), upTo: committed.offset.value)
        }
        return .starts(starts)
    }

    mutating func restore(_ batch: borrowing RecordBatch) {
        for index in 0..<batch.count {
            let record = batch[index]
            let partition = TopicPartition(topic: record.topic, partition: record.partition)
            if let next = stands[partition]?.next, record.offset < next { stands[partition]?.count += 1 }
        }
    }

    mutating func restored() { committedStands = stands }

    func position(_ partition: TopicPartition) -> Int64? { stands[partition]?.next }

    mutating func release(_ reason: Release) {
        stands = [:]
        committedStands = [:]
    }

    mutating func act(_ time: TransactionTime) throws -> Bool {
        room = baton.draw(1...20)
        isFull = false
        return false
    }

    mutating func take(
        _ batch: borrowing RecordBatch, from first: Int, of input: Int, _ time: TransactionTime
    ) throws -> Int {
        use()
        for index in first..<batch.count {
            guard room > 0 else {
                isFull = true
                return index
            }
            if baton.isOne(of: 500) { throw Damaged() }
            room -= 1
            let record = batch[index]
            let partition = TopicPartition(topic: record.topic, partition: record.partition)
            guard var stand = stands[partition] else { continue }
            stand.count += 1
            stand.next = record.offset + 1
            if baton.isOne(of: 8) {
                stand.restoresFrom = stand.next
                stand.countBefore = stand.count
            }
            stands[partition] = stand
            try transaction.write(
                ProducerRecord(
                    key: nil, value: Array("\(record.offset) \(stand.count)".utf8), partition: record.partition),
                to: 0)
        }
        return batch.count
    }

    mutating func reached(_ offset: Int64, of partition: TopicPartition) {
        use()
        stands[partition]?.next = offset
    }

    func mustCommit(isOpen: Bool) -> Bool { isOpen && isFull }

    mutating func finish(_ time: TransactionTime) throws -> [TopicPartition: CommittedOffset]? {
        if isBegunLate { throw PipelineError.defect("a transaction began in a round that had not looked") }
        isFull = false
        let changed = stands.filter { $0.value.next != committedStands[$0.key]?.next }
        if changed.isEmpty { return nil }
        return changed.mapValues { CommittedOffset(offset: Offset($0.next), metadata: $0.metadata) }
    }

    mutating func committed() {
        isUsed = false
        committedStands = stands
    }

    mutating func aborted() {
        isUsed = false
        stands = committedStands
    }

    mutating func refused(_ refusal: Remedy.Refusal) {}

    mutating func tend() -> Bool {
        hasLooked = false
        return !baton.isOne(of: 1_000)
    }

    func consider(_ error: any Error) throws(PipelineError) -> Bool { baton.isOne(of: 2) }
    func overtaken(_ error: KafkaError) -> PipelineError? { .decisionNeeded("overtaken") }
    func clockRecord() -> (record: ProducerRecord, output: Int) {
        (ProducerRecord(key: nil, value: Array("the time".utf8), partition: 0), 0)
    }
    var patience: Duration { .milliseconds(200) }
    func report(_ state: WorkerState, lag: [TopicPartition: Int]?) {}
}
