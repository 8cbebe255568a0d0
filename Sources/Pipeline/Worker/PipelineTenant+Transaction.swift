import KafkaClient
import Streaming

/// The clock of this process is ahead of the broker's: its timers would be sent early (ADR 35).
struct ClockAhead: Error {
    /// By so many milliseconds.
    var milliseconds: Int64

    /// - Parameters:
    ///   - clock: of the transaction.
    ///   - appended: when the broker appended a record of it; nil where that is not known.
    init?(clock: WallTime, appended: WallTime?) {
        guard let appended, clock - appended > ClockCheck.tolerance else { return nil }
        milliseconds = clock - appended
    }
}

extension TransactionTime {
    /// Whether the transaction is so old that nothing more is begun in it. The limit holds for every transaction, so that
    /// the broker never has to abort one (`transaction.timeout`).
    func isOld(_ configuration: PipelineConfiguration, now: ContinuousClock.Instant) -> Bool {
        now - began >= configuration.commitIntervalBehind
    }
}

extension PipelineTenant {
    /// Begins to write, unless it has, with a fresh snapshot of the subscriptions.
    mutating func begin(_ time: TransactionTime) throws {
        guard transactions.open == nil else { return }
        transactions.begun(time)
        noteSeen()
        try core.beginTransaction(clock: time.clock, boundsTimes: true)
    }

    func mustCommit(isOpen: Bool) -> Bool {
        if isOpen, isTickReady { return true }
        guard let open = transactions.open else { return false }
        // What was waited for is in the table, and not in the snapshot of what is open.
        if let wait = tableWait, !wait.isSeen, isOver(wait) { return true }
        // What is open would wait with a table that is not fresh.
        return !isTableReady || open.isFull || open.hasTick || open.events >= context.configuration.commitMaxEvents
    }

    /// Writes the journal entry, and says which offsets are committed, with their metadata.
    mutating func finish(_ time: TransactionTime) throws -> [TopicPartition: CommittedOffset]? {
        guard let open = transactions.open else { return nil }
        if context.configuration.orders.schedule == nil { positions.orders.passTimers(until: time.clock) }
        var entry = origin
        var offsets: [TopicPartition: CommittedOffset] = [:]
        let topics = context.configuration.topics
        positions.forEachUncommitted { partition, position, metadata in
            let topicPartition = topics.topicPartition(of: partition)
            // The state that its records were read with may lack something.
            let isIncomplete = core.beginning(of: partition, newest: position.newestAtFirst) != .complete
            entry.append(topicPartition, position, isIncomplete: isIncomplete)
            offsets[topicPartition] = CommittedOffset(offset: Offset(position.next), metadata: metadata.text)
        }
        entry.clock = time.clock
        entry.table = core.tableOffsets
        core.endTransaction()
        try output.journal(entry)
        if open.hasTick { try checkClock(time) }
        return offsets
    }

    /// The last look before timers are sent: the record in the journal is delivered first, and carries the broker's time
    /// where its topic has `message.timestamp.type=LogAppendTime`. What is early is aborted, and timers wait.
    private mutating func checkClock(_ time: TransactionTime) throws {
        guard let ahead = ClockAhead(clock: time.clock, appended: try output.transaction.deliver()) else { return }
        holdTimers(ahead)
        throw ahead
    }

    mutating func committed() {
        guard let open = transactions.open else { return }
        positions.commit()
        core.commit()
        let wasQuick = context.now - open.time.began < context.configuration.transactionTimeout / 4
        transactions.committed(wasQuick: wasQuick) { positions[$0]?.next }
        if open.events > 0 { ticks.yieldsTo.removeAll() }
        output.truncatesDeadLetters = false
        report(open)
    }

    private mutating func report(_ transaction: OpenTransaction) {
        var counts = core.counts
        counts.transactions += 1
        counts.count(core.takeNotes())
        context.meter.add(counts)
        context.deadLetters.committed(counts.deadLetters, first: core.firstDeadLetter, logger)
        let now = context.clock.now()
        context.meter.committed(
            duration: context.now - transaction.time.began,
            ages: transaction.batches.map { (milliseconds: now - $0.oldest, events: $0.events) })
    }

    /// Goes back to the last commit.
    mutating func aborted() {
        guard transactions.dropped() else { return }
        core.endTransaction()
        positions.rollBack()
        _ = core.takeNotes()
        output.truncatesDeadLetters = false
        context.meter.count { $0.aborts += 1 }
    }

    // MARK: What cannot be written

    /// Finds the refused event by running the batch one event at a time (docs/kafka.md 20).
    mutating func refused(_ refusal: Remedy.Refusal) throws(PipelineError) {
        let event = refusal.tag.flatMap(EventTag.coordinates) ?? transactions.open?.alone
        logger.warning("a record was refused: \(refusal.error)", ["of": event.map { text($0) } ?? "unknown"])
        switch transactions.refused(refusal.error.name, timers: core.counts.timers, ends: ends) {
        case .giveUpTimer:
            throw .unplaceableRecord("not even the dead letter of a timer is accepted: \(refusal.error)")
        case .giveUp(let event):
            throw .unplaceableRecord(
                "partition \(event.partition.number), offset \(event.offset): "
                    + "not even a truncated dead letter is accepted: \(refusal.error)")
        case .retry: break
        }
    }

    /// The broker aborts the open transaction: what was in it is tried in smaller ones (ADR 55).
    mutating func outlasted() {
        let late = output.transaction.acknowledgedLate
        let wasBusy = Outlasts.wasBusy(late: late, timeout: context.configuration.transactionTimeout)
        let alone = transactions.open?.alone
        transactions.outlasted(wasBusy: wasBusy, timers: core.counts.timers, ends: ends)
        logger.warning(
            "a transaction was open for longer than transaction.timeout: what was in it is tried in smaller ones",
            [
                "alone": alone.map { text($0) } ?? "no", "acknowledged_late": "\(late)",
                "broker": wasBusy ? "busy" : "slow",
            ])
    }

    private func text(_ event: EventCoordinates) -> String {
        "\(context.configuration.topics.topicPartition(of: event.partition))/\(event.offset)"
    }

    /// The offset after the last event of the open transaction, or of the batch at hand, by partition.
    private var ends: [SourcePartition: Int64] {
        var ends: [SourcePartition: Int64] = [:]
        for partition in positions.owned { ends[partition] = positions[partition]?.next }
        for record in intake.batch.records {
            let partition = intake.batch.partition(of: record)
            ends[partition] = max(ends[partition] ?? 0, record.offset + 1)
        }
        return ends
    }
}
