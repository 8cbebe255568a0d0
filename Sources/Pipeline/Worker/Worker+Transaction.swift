import KafkaClient
import Streaming

extension Worker {
    /// Opens a transaction, unless one is open, with a fresh snapshot of the subscriptions.
    mutating func begin() throws {
        switch try transaction.begin(hasRepeatedRequests: output.hasRepeatedRequests) {
        case .nothing: return
        case .begin: break
        case .replaceProducerAndBegin: try replaceProducer(after: .repeatedRequest)
        }
        try output.beginTransaction()
        let clock = context.clock.now()
        try transaction.begun(now: .now, clock: clock)
        try core.beginTransaction(clock: clock, boundsTimes: true)
    }

    /// Commits the open transaction with its journal entry and its offsets, if there is one.
    ///
    /// - Throws: what ``recover(from:)`` can deal with; the transaction is then still to be ended.
    mutating func commit() throws {
        if let open = transaction.commit() { try commit(open) }
    }

    private mutating func commit(_ open: OpenTransaction) throws {
        if context.configuration.orders.schedule == nil { assignment.positions.orders.passTimers(until: open.clock) }
        output.deliverSoon()
        let offsets = try writeJournal(of: open)
        try context.reach(.beforeCommit, worker: slot.number)
        if open.hasTick { try checkClock(of: open) }
        context.host.calls.enter(slot.label)
        defer { context.host.calls.leave(slot.label) }
        try sendOffsets(offsets)
        try context.reach(.afterSendOffsets, worker: slot.number)
        try output.commitTransaction()
        try context.reach(.afterCommit, worker: slot.number)
        core.endTransaction()
        assignment.positions.commit()
        core.commit()
        let wasQuick = ContinuousClock.now - open.began < context.configuration.transactionTimeout / 4
        try transaction.committed(wasQuick: wasQuick) { assignment.positions[$0]?.next }
        if open.events > 0 { ticks.yieldsToEvents = false }
        output.truncatesDeadLetters = false
        health.backoff.reset()
        context.patience.hasWorked()
        context.host.health.brokersAreDown(nil, of: slot.label)
        reportCommit(of: open)
    }

    /// Writes the journal entry, and returns the offsets that the transaction commits, with their metadata.
    mutating func writeJournal(of open: OpenTransaction) throws -> [TopicPartition: CommittedOffset] {
        var entry = output.journalOrigin
        var offsets: [TopicPartition: CommittedOffset] = [:]
        let topics = context.configuration.topics
        assignment.positions.forEachUncommitted { partition, position, metadata in
            let topicPartition = topics.topicPartition(of: partition)
            entry.append(
                topicPartition, position, isIncomplete: isIncomplete(partition, newest: position.newestAtFirst))
            offsets[topicPartition] = CommittedOffset(offset: Offset(position.next), metadata: metadata.text)
        }
        entry.clock = open.clock
        entry.table = core.tableOffsets
        try output.journal(entry)
        return offsets
    }

    /// Whether the state that the records of a partition were read with may lack something.
    private func isIncomplete(_ partition: SourcePartition, newest: WallTime) -> Bool {
        switch partition.source {
        case .orders: core.orders.beginning(of: partition.number, newest: newest) != .complete
        case .requests: false
        }
    }

    private mutating func sendOffsets(_ offsets: [TopicPartition: CommittedOffset]) throws(KafkaError) {
        let deadline = context.configuration.transactionTimeout
        switch assignment.group {
        case .some(let group): try output.sendOffsets(offsets, group, deadline: deadline)
        case .none: throw KafkaError.lostAssignment
        }
    }

    private mutating func reportCommit(of transaction: OpenTransaction) {
        var counts = core.counts
        counts.transactions += 1
        counts.count(core.takeNotes())
        context.meter.add(counts)
        context.deadLetters.committed(counts.deadLetters, first: core.firstDeadLetter, logger)
        let now = context.clock.now()
        context.meter.committed(
            duration: .now - transaction.began,
            ages: transaction.batches.map { (milliseconds: now - $0.oldest, events: $0.events) })
    }

    /// Ends the open transaction without effect, if there is one; the producer is usable afterwards.
    mutating func discardTransaction() throws {
        try end(transaction.dropped())
    }

    /// The same, as its error asks for.
    mutating func endTransaction(after error: KafkaError) throws {
        try end(transaction.failed(error))
    }

    private mutating func end(_ action: TransactionMachine<OpenTransaction>.EndAction) throws {
        switch action {
        case .nothing:
            return
        case .abort:
            forgetTransaction()
            output.truncatesDeadLetters = false
            do {
                try abort()
            } catch {
                // Outside the watch, which would end the process: a new producer waits for the broker without limit.
                try replaceProducer(after: error)
            }
        case .replaceProducer(let error):
            try replaceProducer(after: error)
        case .forgetAndReplaceProducer(let error):
            forgetTransaction()
            try replaceProducer(after: error)
        }
    }

    mutating func abort() throws(KafkaError) {
        context.host.calls.enter(slot.label)
        defer { context.host.calls.leave(slot.label) }
        try output.abortTransaction()
    }

    /// Goes back to the last commit in everything but the producer.
    private mutating func forgetTransaction() {
        core.endTransaction()
        assignment.positions.rollBack()
        _ = core.takeNotes()
        context.meter.count { $0.aborts += 1 }
    }
}
