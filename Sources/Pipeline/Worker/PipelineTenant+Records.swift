import KafkaClient
import Streaming

extension PipelineTenant {
    /// Extracts a batch and emits it, as far as the transaction has room: the rest comes in the next one.
    mutating func take(
        _ records: borrowing RecordBatch, from first: Int, of input: Int, _ time: TransactionTime
    ) throws -> Int {
        let source = context.sources[input]
        guard !mustEndTransaction, !intake.isAtWork || intake.source == source else { return first }
        if !intake.isAtWork {
            if source == .requests, mustWait(records) { return first }
            intake.sort(records, of: source, &positions)
            try refold()
        } else if transactions.open == nil, intake.next < intake.extracted, core.takesBackBoundedTimes() {
            intake.extracted = intake.next
        }
        while intake.isAtWork, !mustEndTransaction { try process(time) }
        return records.count - (intake.batch.records.count - intake.next)
    }

    /// Whether nothing more may be written before the transaction is committed.
    private var mustEndTransaction: Bool { transactions.open.map { $0.isFull || $0.hasTick } ?? false }

    private mutating func process(_ time: TransactionTime) throws {
        // Its clock bounds the times of the records.
        try begin(time)
        if intake.next == intake.extracted { intake.extracted = core.extract(&intake.batch, from: intake.next) }
        let isAlone = transactions.isolation.isActive
        if isAlone { try applyTreatment(of: intake.next) }
        let emitted = try emit(intake.next..<(isAlone ? intake.next + 1 : intake.extracted), time)
        advance(over: intake.next..<emitted)
        intake.next = emitted
        try context.reach(.afterProduce, worker: slot.number)
        if isAlone || emitted < intake.extracted { transactions.filled() }
    }

    private mutating func emit(_ records: Range<Int>, _ time: TransactionTime) throws -> Int {
        output.source = intake.source
        let context = context
        let configuration = context.configuration
        return try core.emit(
            intake.batch, records, limit: transactions.outlasts.records(most: configuration.commitMaxRecords),
            isTimeUp: { time.isOld(configuration, now: context.now) }, into: &output)
    }

    private mutating func advance(over records: Range<Int>) {
        let source = intake.source
        var oldest = WallTime.distantFuture
        var dated = 0
        for index in records {
            let record = intake.batch.records[index]
            positions[source].advance(over: record, latest: core.orders.latestTime)
            guard let timestamp = record.timestamp else { continue }
            oldest = min(oldest, timestamp)
            dated += 1
        }
        transactions.wrote(events: records.count, dated: dated, oldest: oldest)
    }

    /// Prepares an event that runs alone because its batch was refused (docs/kafka.md 20), or took too long (ADR 55).
    private mutating func applyTreatment(of record: Int) throws {
        let entry = intake.batch.records[record]
        let event = EventCoordinates(intake.batch.partition(of: entry), offset: entry.offset)
        let isolation = transactions.isolation
        let treatment = isolation.treatment(of: event)
        output.truncatesDeadLetters = treatment.isTruncated
        let outlasts = transactions.outlasts.isCondemned(event)
        if outlasts || treatment.isDeadLetter, !core.isDeadLetter(record: record) {
            core.deadLetter(
                record: record,
                outlasts
                    ? .eventOutlasts(context.configuration.transactionTimeout)
                    : .eventRefused(isolation.lastError ?? ""))
        }
        transactions.isolates(event, isDeadLetter: core.isDeadLetter(record: record))
    }
}
