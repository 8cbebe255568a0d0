import KafkaClient
import Pipeline
import StateStore

extension BroadcastWorker {
    /// Ends the open transaction: what joiners have missed, the journal, the offsets.
    mutating func commit() throws {
        let clock = opened?.clock ?? context.clock.now()
        do {
            try core.sendLate(into: &output)
            guard let (offsets, entry) = core.finish(clock: clock, oldest: clock - Self.commitAgain, origin: origin)
            else {
                opened = nil
                return
            }
            try write(offsets, entry)
        } catch let error as KafkaError {
            return try endTransaction(after: error)
        }
        committed()
    }

    private mutating func committed() {
        context.meter.committed(core.open)
        deadLetters.committed(core.open.deadLetters, first: core.open.firstDeadLetter, logger)
        core.committed()
        output.truncatesDeadLetters = false
        opened = nil
        backoff.reset()
        context.patience.hasWorked()
        context.host.health.brokersAreDown(nil, of: label)
    }

    private mutating func write(_ offsets: [Int32: BroadcastOffset], _ entry: BroadcastJournalEntry) throws {
        let topic = context.configuration.topics.subscriptions
        var positions: [TopicPartition: CommittedOffset] = [:]
        for (number, offset) in offsets {
            positions[TopicPartition(topic: topic, partition: number)] = CommittedOffset(
                offset: Offset(offset.offset), metadata: offset.metadata)
        }
        switch group {
        case .some(let group): try output.commit(positions, journal: try entry.json(), group)
        // Without a membership there is nothing to commit.
        case .none: throw KafkaError.noMembership
        }
    }

    /// A copy of a request may still be in flight, and would corrupt the next transaction: that has another producer. Only
    /// while nothing is open.
    mutating func replaceRepeatingOutput() throws {
        guard output.transaction.hasRepeatedRequests else { return }
        output = try makeOutput()
    }

    private func makeOutput() throws -> BroadcastOutput {
        try context.host.untilItWorks(logger) { () throws(KafkaError) in
            try BroadcastOutput(context, slot: slot, number: number, logger: logger.clientSink)
        }
    }

    /// Ends the open transaction after an error: nothing of it counts, unless the broker has committed it after all.
    mutating func endTransaction(after error: KafkaError) throws {
        context.meter.aborted()
        if let refusal = output.transaction.takeRefusal() ?? (error.kind.traits.isOfRecord ? error : nil) {
            guard !output.truncatesDeadLetters else {
                throw PipelineError.unplaceableRecord("the broker refuses a record, and always would: \(refusal)")
            }
            output.truncatesDeadLetters = true
        }
        if let line = try context.host.consider(error) { logger.warning("\(line); tried again") }
        nextAttempt = .now + backoff.next()
        let isUnknown = output.transaction.isEndUnknown
        try endOutput(after: error)
        opened = nil
        if isUnknown { return try resolve() }
        core.aborted()
        try rewind()
    }

    private mutating func endOutput(after error: KafkaError) throws {
        guard error.client == .producer else { return try abort() }
        switch error.recovery {
        case .abortTransaction, .giveUp: try abort()
        case .retry, .recreateClient: try replaceOutput(after: error)
        }
    }

    /// Drops what is open, without a record of it.
    mutating func abort() throws {
        do throws(KafkaError) {
            try output.transaction.abort()
        } catch {
            try replaceOutput(after: error)
        }
    }

    /// A new producer ends what its predecessor has left open, one way or the other.
    private mutating func replaceOutput(after error: KafkaError) throws {
        if error.kind == .fenced, fencings.isTooMany() {
            throw PipelineError.instanceInUse(
                "another process sends broadcasts as instance '\(context.configuration.instanceID)': every process "
                    + "needs its own instance.id (\(error))")
        }
        logger.notice("recreates its producer after: \(error)")
        output = try makeOutput()
    }

    /// Asks the group what it has committed: that says whether the transaction has.
    private mutating func resolve() throws {
        let topic = context.configuration.topics.subscriptions
        let partitions = core.owned.map { TopicPartition(topic: topic, partition: $0) }
        let reader = try Consumer(
            assigning: context.configuration.kafka, group: context.group, logger: logger.clientSink)
        let timeout = context.configuration.transactionTimeout
        let found = try context.host.untilItWorks(logger) { () throws(KafkaError) in
            try reader.committedWhenStable(partitions, timeout: timeout)
        }
        let offsets = found.map { place, offset in
            (place.partition, BroadcastOffset(offset: offset.offset.value, metadata: offset.metadata))
        }
        switch core.outcome(by: Dictionary(uniqueKeysWithValues: offsets)) {
        case .committed: committed()
        case .aborted:
            core.aborted()
            try rewind()
        case .unknown: try startAgain()
        }
    }

    /// Reads the subscriptions again from what the group has committed.
    private mutating func rewind() throws {
        batch.removeAll()
        next = 0
        let topic = context.configuration.topics.subscriptions
        var positions: [TopicPartition: Offset] = [:]
        for number in core.owned {
            positions[TopicPartition(topic: topic, partition: number)] = Offset(core.position(number) ?? 0)
        }
        try consumer.unassign()
        try consumer.assign(positions)
    }

    // MARK: Errors

    /// Handles errors that no call returned.
    mutating func considerErrors(_ errors: [KafkaError]) throws {
        for error in errors {
            if error.kind == .offsetOutOfRange {
                throw PipelineError.decisionNeeded(
                    "the log of subscriptions no longer has the next offset (\(error)): remove the offsets of the group "
                        + "\(context.group), and start it again")
            }
            if error.kind == .allBrokersDown {
                context.host.health.brokersAreDown("\(error)", of: label)
            }
            if error.isFatal { throw error }
            if error.kind == .authorization, context.patience.isStarting { refusal = error }
            if let line = try context.host.consider(error) { logger.warning("\(line); waiting") }
        }
    }

    /// Begins again as a new member after an error of the consumer; any other ends the transaction.
    mutating func recover(from error: KafkaError) throws {
        guard consumer.fatalError != nil || error.ends(.member) else {
            switch phase {
            case .reading: return try endTransaction(after: error)
            case .unassigned, .locating: return try wait(after: error)
            }
        }
        if let line = try context.host.consider(error) { logger.warning("\(line)", ["recovery": "\(error.recovery)"]) }
        logger.notice("recreates its consumer after: \(error)")
        try abort()
        try release()
        consumer.leave(timeout: .seconds(10))
        consumer = try Self.makeConsumer(context, logger)
        phase = .unassigned
    }

    /// Nothing is open yet: what was asked for is asked for again.
    private mutating func wait(after error: KafkaError) throws {
        if let line = try context.host.consider(error) { logger.warning("\(line); tried again") }
        if error.ends(.producer) { try replaceOutput(after: error) }
        nextAttempt = .now + backoff.next()
        try release()
    }

    /// A damaged table is filled again; one that cannot be written is waited for.
    mutating func recover(from error: StoreError) throws {
        switch error.recovery {
        case .stop: throw PipelineError.defect("a table of channels cannot be used: \(error)")
        case .wipe: logger.error("\(error): it is filled again")
        case .retry: if context.patience.isDue("store") { logger.error("\(error); tried again") }
        }
        nextAttempt = .now + backoff.next()
        try abort()
        try startAgain()
    }
}

extension KafkaError {
    fileprivate static var noMembership: KafkaError {
        KafkaError(
            kind: .state, recovery: .abortTransaction, name: "", message: "the partitions were taken away",
            operation: "send_offsets")
    }
}
