import KafkaClient

extension Worker {
    /// Opens a transaction, unless one is open, with a fresh snapshot of the subscriptions.
    mutating func begin() throws {
        guard transaction == nil else { return }
        if output.hasRepeatedRequests { try replaceProducer(after: .repeatedRequest) }
        try output.beginTransaction()
        transaction = OpenTransaction(began: .now, clock: context.clock.now())
        try core.beginTransaction()
    }

    /// Commits the open transaction with its journal entry and its offsets, if there is one.
    ///
    /// - Throws: what ``recover(from:)`` can deal with; the transaction is then still open.
    mutating func commit() throws {
        guard let open = transaction else { return }
        if context.configuration.orders.schedule == nil { positions.passTimers(until: open.clock) }
        let offsets = try writeJournal(of: open)
        try context.reach(.beforeCommit, worker: slot.number)
        if open.hasTick { try checkClock(of: open) }
        context.watch.enter(slot.number)
        defer { context.watch.leave(slot.number) }
        try sendOffsets(offsets)
        try context.reach(.afterSendOffsets, worker: slot.number)
        try output.commitTransaction()
        try context.reach(.afterCommit, worker: slot.number)
        transaction = nil
        core.endTransaction()
        positions.commit()
        core.commit()
        isolation.committed { positions[$0]?.next }
        if open.hasTick { isolation.tickCommitted(limit: open.tickLimit) }
        if open.events > 0 { ticks.yieldsToEvents = false }
        output.truncatesDeadLetters = false
        backoff.reset()
        context.patience.hasWorked()
        context.board.brokersAreDown(nil, worker: slot.number)
        reportCommit(of: open)
    }

    /// Writes the journal entry and lists the offsets, with their metadata, that the transaction moves to.
    mutating func writeJournal(of open: OpenTransaction) throws -> [TopicPartition: CommittedOffset] {
        var entry = JournalEntry()
        var offsets: [TopicPartition: CommittedOffset] = [:]
        let topic = context.configuration.topics.events
        positions.forEachUncommitted { partition, position in
            entry.ranges.append(
                JournalEntry.Range(
                    partition: partition, from: position.committed, to: position.next, first: position.first,
                    isIncomplete: core.beginning(of: partition, newest: position.newestAtFirst) != .whole,
                    watermarkBefore: position.committedWatermark, watermarkAfter: position.watermark,
                    until: position.tickTime))
            offsets[TopicPartition(topic: topic, partition: partition)] = CommittedOffset(
                offset: Offset(position.next), metadata: positions.metadata(of: position).text)
        }
        entry.clock = open.clock
        entry.table = core.tableOffsets
        journalText.removeAll()
        entry.append(to: &journalText, origin: journalOrigin)
        try output.journal(key: slot.description, value: journalText.bytes)
        return offsets
    }

    private mutating func sendOffsets(_ offsets: [TopicPartition: CommittedOffset]) throws(KafkaError) {
        let deadline = context.configuration.transactionTimeout
        switch group {
        case .some(let group): try output.sendOffsets(offsets, group, deadline: deadline)
        case .none: throw KafkaError.lostAssignment
        }
    }

    private mutating func reportCommit(of transaction: OpenTransaction) {
        var counts = core.counts
        counts.transactions += 1
        counts.count(core.takeNotes())
        context.meter.add(counts)
        let now = context.clock.now()
        context.meter.committed(
            duration: .now - transaction.began,
            ages: transaction.batches.map { (milliseconds: now - $0.oldest, events: $0.events) })
    }

    /// Ends the open transaction without effect, if there is one; the producer is usable afterwards.
    mutating func discardTransaction() throws {
        guard transaction != nil else { return }
        forgetTransaction()
        output.truncatesDeadLetters = false
        do {
            try abort()
        } catch {
            // Not under the watch, which would end the process: a new producer waits for the broker as long as it takes.
            try replaceProducer(after: error)
        }
    }

    mutating func abort() throws(KafkaError) {
        context.watch.enter(slot.number)
        defer { context.watch.leave(slot.number) }
        try output.abortTransaction()
    }

    /// Goes back to the last commit in everything but the producer.
    mutating func forgetTransaction() {
        transaction = nil
        core.endTransaction()
        positions.rollBack()
        _ = core.takeNotes()
        context.meter.count { $0.aborts += 1 }
    }
}

extension KafkaError {
    /// The last transaction ended well, but a copy of one of its requests may still reach the broker, in the next one.
    fileprivate static var repeatedRequest: KafkaError {
        KafkaError(
            kind: .timedOut, recovery: .recreateClient, name: "",
            message: "a request had to be sent again, and its first copy may still be on its way")
    }

    /// The partitions went while a transaction was open: abort it.
    fileprivate static var lostAssignment: KafkaError {
        KafkaError(
            kind: .state, recovery: .abortTransaction, name: "", message: "the partitions were taken away",
            operation: "send_offsets")
    }
}
