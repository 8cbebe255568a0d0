import KafkaClient
import Streaming

extension Worker {
    /// Recovers from an error, and from what goes wrong meanwhile.
    mutating func recoverFully(from error: any Error) throws {
        var error = error
        while true {
            if error is PipelineError || error is PipelineEnded { throw error }
            do {
                return try recover(from: error)
            } catch let next {
                error = next
            }
        }
    }

    /// Brings the worker back to its last commit after an error, ready to continue.
    ///
    /// - Throws: ``PipelineError`` where it cannot continue.
    private mutating func recover(from error: any Error) throws {
        switch error {
        case let error as KafkaError: try recover(from: error)
        case let error as SubscriptionTableError where error.recovery != .retry:
            throw PipelineError.defect("the subscriptions table cannot be used: \(error)")
        default:
            if context.patience.isDue("fan-out") { logger.error("fan-out failed, the batch is retried: \(error)") }
            try discardTransaction()
            rewind()
            try pause(health.backoff.next())
        }
    }

    private mutating func recover(from error: KafkaError) throws {
        health.fencings.consider(error)
        let hasOutlasted = transaction.hasOutlasted(context.configuration.transactionTimeout)
        health.fencings.isOwnTimeout = hasOutlasted
        // The delivery reports say which record it was.
        output.poll()
        let remedy = Remedy(
            after: error, refusals: output.takeRefusals(), alone: transaction.alone, consumer: consumer.fatalError)
        switch remedy {
        case .isolate(let refusal):
            let topics = context.configuration.topics
            let event = refusal.event.map { "\(topics.topicPartition(of: $0.partition))/\($0.offset)" }
            logger.warning("a record was refused: \(refusal.error)", ["of": event ?? "unknown"])
            try isolate(refusal.error)
        case .replaceFailedConsumer(let fatal):
            // What the group said during a long call is still to be heard: partitions that it took explain a fencing
            // (ADR 16).
            try serveGroup(timeout: .zero)
            try replaceConsumer(after: fatal)
        case .replaceConsumer:
            try report(error)
            try replaceConsumer(after: error)
        case .rewind(let isOutOfRange):
            try report(error)
            if hasOutlasted { noteOutlasted() }
            try endTransaction(after: error)
            if isOutOfRange { try rewindFromOutOfRange() } else { rewind() }
            try pause(health.backoff.next())
        }
    }

    private func report(_ error: KafkaError) throws {
        if let line = try context.host.consider(error) {
            logger.warning("\(line)", ["recovery": "\(error.recovery)"])
        }
    }

    /// The offset after the last event of the open transaction, or of the batch at hand, by partition.
    private var ends: [SourcePartition: Int64] {
        var ends: [SourcePartition: Int64] = [:]
        for partition in assignment.positions.owned { ends[partition] = assignment.positions[partition]?.next }
        for record in intake.batch.records {
            let partition = intake.batch.partition(of: record)
            ends[partition] = max(ends[partition] ?? 0, record.offset + 1)
        }
        return ends
    }

    /// The open transaction is so old that the broker aborts it: what was in it is tried in smaller ones (ADR 55).
    private mutating func noteOutlasted() {
        let timeout = context.configuration.transactionTimeout
        let late = output.acknowledgedLate
        let wasBusy = Outlasts.wasBusy(late: late, timeout: timeout)
        transaction.outlasted(wasBusy: wasBusy, timers: core.counts.timers, ends: ends)
        logger.warning(
            "a transaction was open for longer than transaction.timeout: what was in it is tried in smaller ones",
            [
                "alone": transaction.alone.map {
                    "\(context.configuration.topics.topicPartition(of: $0.partition))/\($0.offset)"
                } ?? "no", "acknowledged_late": "\(late)", "broker": wasBusy ? "busy" : "slow",
            ])
    }

    /// Finds the refused event by running the batch one event at a time (docs/kafka.md 20).
    private mutating func isolate(_ refusal: KafkaError) throws {
        switch transaction.refused(refusal.name, timers: core.counts.timers, ends: ends) {
        case .giveUpTimer:
            throw PipelineError.unplaceableRecord("not even the dead letter of a timer is accepted: \(refusal)")
        case .giveUp(let event):
            throw PipelineError.unplaceableRecord(
                "partition \(event.partition.number), offset \(event.offset): "
                    + "not even a truncated dead letter is accepted: \(refusal)")
        case .retry:
            try discardTransaction()
            rewind()
        }
    }

    /// Recreates the producer under the same transactional id, which ends whatever its predecessor left open.
    mutating func replaceProducer(after error: KafkaError) throws {
        if error.kind == .fenced { try considerFencing(error) }
        logger.notice("recreates its producer after: \(error)")
        if !assignment.positions.isEmpty { context.board.set(.positioning, worker: slot.number) }
        output = try Self.makeOutput(slot: slot, context: context, logger: logger)
        showPhase()
        context.meter.count { $0.recreatedClients += 1 }
    }

    /// Tells a slot that another process took from a transaction that timed out (docs/code.md §6, "Slots").
    private mutating func considerFencing(_ error: KafkaError) throws {
        let isStatic = context.configuration.staticMembership
        let fatal = isStatic ? try awaitConsumerFencing(within: .seconds(5)) : nil
        switch health.fencings.judge(error, consumer: fatal, isStatic: isStatic) {
        case .newProducer: return
        case .slotTaken(let error): throw slotTaken(error)
        case .tooOften: throw PipelineError.defect("slot \(slot) was fenced three times in 10 minutes: \(error)")
        }
    }

    /// Serves the group until the consumer is fenced as well.
    ///
    /// The consumer is looked at before the group is served: when this returns its fencing, all that the group said
    /// before it has been processed (ADR 16).
    private mutating func awaitConsumerFencing(within limit: Duration) throws -> KafkaError? {
        let end = ContinuousClock.now + limit
        while true {
            let fatal = consumer.fatalError.flatMap { $0.kind == .fencedInstanceID ? $0 : nil }
            let isLast = fatal != nil || .now >= end || context.mustStop
            try serveGroup(timeout: isLast ? .zero : .milliseconds(100))
            if isLast { return fatal }
        }
    }

    mutating func replaceConsumer(after fatal: KafkaError) throws {
        if fatal.kind == .fencedInstanceID, !health.fencings.mayBeOwnDoing() { throw slotTaken(fatal) }
        logger.notice("recreates its consumer after: \(fatal)")
        // The assignment's turn ends with it.
        isCareful = context.holds.current != nil
        try discardTransaction()
        try releaseAssignment()
        // The old one first: its records would keep it in the group, which would wait for it until
        // max.poll.interval.ms.
        intake.removeAll()
        consumer.leave(timeout: .seconds(10))
        consumer = try Self.makeConsumer(slot: slot, context: context, isCareful: isCareful, logger: logger)
        health.fencings.noteNewConsumer()
        context.meter.count { $0.recreatedClients += 1 }
    }

    private func slotTaken(_ error: KafkaError) -> PipelineError {
        .instanceInUse("another process has taken slot \(slot): every process needs its own instance.id (\(error))")
    }

    /// Handles errors that no call returned: fatal ones are thrown, to be recovered from; the rest is logged.
    mutating func considerErrors(_ errors: [KafkaError]) throws {
        for error in errors {
            health.fencings.consider(error)
            if error.kind == .allBrokersDown { context.host.health.brokersAreDown("\(error)", of: slot.label) }
            if error.kind == .fencedInstanceID, !health.fencings.mayBeOwnDoing() { throw slotTaken(error) }
            if error.kind == .offsetOutOfRange { throw KafkaError.overtaken(error) }
            if error.isFatal { throw error }
            if let line = try context.host.consider(error) { logger.warning("\(line); waiting") }
            if error.kind == .authorization, context.patience.isStarting { health.refusal = error }
        }
    }

    /// Considers a refusal at the start again, until there is a sign that it is over.
    mutating func considerRefusal() throws {
        if let refusal = health.refusal { try considerErrors([refusal]) }
    }

    /// Waits, and serves the group meanwhile.
    private mutating func pause(_ duration: Duration) throws {
        let end = ContinuousClock.now + duration
        while .now < end, !context.mustEnd { try serveControl(timeout: .milliseconds(50)) }
    }
}

extension Worker {
    /// Waits for the broker as long as it takes.
    static func makeOutput(slot: Slot, context: WorkerContext, logger: Logger) throws -> TransactionOutput {
        try context.host.untilItWorks(logger) { () throws(KafkaError) in
            var output = try TransactionOutput(
                configuration: context.configuration, slot: slot, origin: context.journalOrigin,
                logger: logger.clientSink)
            try output.initTransactions(deadline: .seconds(10))
            return output
        }
    }

    /// - Parameter isCareful: fetches one batch at a time, so that the position says which one took the memory.
    static func makeConsumer(slot: Slot, context: WorkerContext, isCareful: Bool, logger: Logger) throws -> Consumer {
        let configuration = context.configuration
        let topics = context.sources.map(configuration.topics.topic)
        var settings = configuration.consumerSettings(queues: topics.count)
        if isCareful { settings.merge(ClientSettings.oneBatchAtATime) { $1 } }
        var consumer = try Consumer(
            settings: settings, group: configuration.groupID,
            instance: configuration.staticMembership ? slot.groupInstanceID(group: configuration.groupID) : nil,
            queuesOf: topics.count > 1 ? topics : [], logger: logger.clientSink)
        consumer.passes = context.holds.passed.ranges
        consumer.onPassing = { context.board.passes($0.map { "\($0)" }, in: slot.description) }
        try consumer.subscribe(to: topics)
        return consumer
    }
}

extension KafkaError {
    /// The log no longer has the next offset to read. The committed offsets tell whether retention has overtaken a
    /// fold, which then begins again, or the group itself.
    fileprivate static func overtaken(_ error: KafkaError) -> KafkaError {
        var error = error
        error.recovery = .abortTransaction
        return error
    }
}
