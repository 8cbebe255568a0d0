import KafkaClient
import Notifications
import Pipeline

extension LaneWorker {
    /// Writes and commits what has come together, if it is time.
    mutating func commitIfDue(_ now: WallTime) throws {
        guard .now >= nextTry, core.isUrgent || pace.isDue() else { return }
        guard let transaction = core.takeTransaction(now: now) else { return }
        pace.commits()
        do throws(KafkaError) {
            try write(transaction)
        } catch {
            try endTransaction(after: error)
            return
        }
        core.committed()
        backoff.reset()
        hasCommitted = true
        context.host.health.brokersAreDown(nil, of: label)
        context.meter.committed(transaction) { [context] in context.topic($0) }
    }

    private mutating func write(_ transaction: LaneTransaction) throws(KafkaError) {
        if output.transaction.hasRepeatedRequests { output = try makeOutput() }
        switch group {
        case .some(let group): try output.write(transaction, group)
        // Without a membership there is nothing to commit.
        case .none: throw .noMembership
        }
    }

    /// Ends the open transaction so that its outcomes are written exactly once: with the next one, or not again if the
    /// broker has committed it after all. Answers are kept; nothing is sent again.
    private mutating func endTransaction(after error: KafkaError) throws {
        context.meter.aborted()
        if let refusal = output.transaction.takeRefusal() {
            throw PipelineError.unplaceableRecord("the broker permanently refuses a record: \(refusal)")
        }
        if let line = try context.host.consider(error, patience) { logger.warning("\(line); tried again") }
        nextTry = .now + backoff.next()
        let isUnknown = output.transaction.isEndUnknown
        switch error.recovery {
        case .abortTransaction, .giveUp: try abort()
        case .retry, .recreateClient: try replaceOutput(after: error)
        }
        guard isUnknown else { return core.aborted() }
        try resolve()
    }

    private mutating func abort() throws {
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
                "\(provider.rawValue): another process sends as instance '\(context.configuration.instanceID)': every process "
                    + "needs its own instance.id (\(error))")
        }
        logger.notice("recreates its producer after: \(error)")
        let (context, provider, logger) = (self.context, self.provider, self.logger)
        output = try context.host.untilItWorks(logger, patience, whileDraining: true) { () throws(KafkaError) in
            try LaneOutput(context, provider, logger: logger.clientSink)
        }
    }

    private func makeOutput() throws(KafkaError) -> LaneOutput {
        try LaneOutput(context, provider, logger: logger.clientSink)
    }

    /// Asks the group what it has committed: that says whether the transaction has.
    private mutating func resolve() throws {
        let topics = context.topics.flatMap { topic in
            core.owned.map { TopicPartition(topic: topic, partition: $0) }
        }
        guard !topics.isEmpty else { return core.aborted() }
        let consumer = try Consumer(
            assigning: context.configuration.kafka,
            group: DeliveryConfiguration.group(of: provider, in: context.configuration.groupID),
            logger: logger.clientSink)
        let timeout = context.configuration.transactionTimeout
        let committed = try context.host.untilItWorks(logger, patience, whileDraining: true) { () throws(KafkaError) in
            try consumer.committedWhenStable(topics, timeout: timeout)
        }
        core.resolve { [context] stream, partition in
            committed[TopicPartition(topic: context.topic(stream), partition: partition)].flatMap {
                LaneOffset(offset: $0.offset.value, metadata: $0.metadata)
            }
        }
    }

    // MARK: Errors

    /// Handles errors that no call returned.
    mutating func considerErrors(_ errors: [KafkaError]) throws {
        for error in errors {
            if error.kind == .offsetOutOfRange {
                throw PipelineError.decisionNeeded(
                    "\(provider.rawValue): the log no longer has the next offset: pushes were lost to retention (\(error)); "
                        + "removing the group's offsets starts it again")
            }
            if error.kind == .allBrokersDown {
                context.host.health.brokersAreDown("\(error)", of: label)
            }
            if error.isFatal { throw error }
            if error.kind == .authorization, patience.isStarting { refusal = error }
            if let line = try context.host.consider(error, patience) { logger.warning("\(line); waiting") }
        }
    }

    /// Begins again as a new member after an error of the consumer, with a new producer after one of the producer, and
    /// waits after any other: what is in flight stays.
    mutating func recover(from error: KafkaError) throws {
        if let line = try context.host.consider(error, patience) {
            logger.warning("\(line)", ["recovery": "\(error.recovery)"])
        }
        guard consumer.fatalError != nil || error.ends(.member) else {
            if error.ends(.producer) { try replaceOutput(after: error) }
            nextTry = .now + backoff.next()
            consumer.waitForRecords(in: [], timeout: .milliseconds(100))
            return
        }
        logger.notice("recreates its consumer after: \(error)")
        try release()
        consumer.leave(timeout: .seconds(10))
        consumer = try Self.makeConsumer(of: provider, context, signal, logger)
        if case .ending = phase {} else { phase = .unassigned }
    }

    /// - Returns: whether the dispatch topic is empty.
    static func waitForTopics(_ context: DeliveryContext, _ patience: Patience, _ logger: Logger) throws -> Bool {
        var consumer = try Consumer(assigning: context.configuration.kafka, logger: logger.clientSink)
        return try context.host.untilItWorks(logger, patience) { () throws(KafkaError) in
            let counts = try consumer.partitionCounts(of: context.topics + [context.configuration.topics.deliveries])
            for (topic, count) in counts.sorted(by: { $0.key < $1.key }) where count != counts[context.topics[0]] {
                throw .wrongPartitions(topic, count, context.topics[0], counts[context.topics[0]] ?? 0)
            }
            let dispatch = try consumer.partitions(of: context.topics[0], timeout: .seconds(3))
            return try consumer.startOffsets(dispatch, timeout: .seconds(3))
                == consumer.endOffsets(dispatch, timeout: .seconds(3))
        }
    }
}

extension KafkaError {
    fileprivate static var noMembership: KafkaError {
        KafkaError(
            kind: .state, recovery: .abortTransaction, name: "", message: "the partitions were taken away",
            operation: "send_offsets")
    }

    fileprivate static func wrongPartitions(_ topic: String, _ count: Int, _ dispatch: String, _ other: Int)
        -> KafkaError
    {
        KafkaError(
            kind: .configuration, recovery: .giveUp, name: "",
            message:
                "\(topic) has \(count) partitions and \(dispatch) \(other): they must be as many, since a push's retries and "
                + "its outcome are in the partition of the same number")
    }
}
