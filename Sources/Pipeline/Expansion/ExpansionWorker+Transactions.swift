import KafkaClient
import Telemetry

/// The ends of transactions, and errors.
extension ExpansionWorker {
    static func makeOutput(
        _ context: ExpansionContext, _ patience: Patience, _ logger: Logger
    ) throws -> ExpansionOutput {
        let make = { () throws(KafkaError) in try ExpansionOutput(context, logger: logger.clientSink) }
        return try patience.untilItWorks(logger, mustEnd: { context.mustEnd }, make)
    }

    /// Commits what is open.
    mutating func commit() throws {
        guard !open.isEmpty else { return }
        let isMember = try commit(open.offsets)
        // Without a membership there is nothing to commit.
        guard isMember else { return try abort() }
        context.meter.committed(records: open.records, pushes: open.pushes)
        open = OpenExpansion()
        backoff.reset()
        patience.hasWorked()
        // A copy of a request may still be in flight, and would corrupt the next transaction: that has another producer.
        if output.transaction.hasRepeatedRequests { output = try Self.makeOutput(context, patience, logger) }
    }

    /// - Returns: false without a membership.
    private mutating func commit(_ offsets: [TopicPartition: CommittedOffset]) throws(KafkaError) -> Bool {
        switch group {
        case .some(let group): try output.transaction.commit(offsets, group)
        case .none: return false
        }
        return true
    }

    /// Drops what is open.
    mutating func abort() throws {
        open = OpenExpansion()
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
                "another process expands as instance '\(context.configuration.instanceID)': every process needs its own "
                    + "instance.id (\(error))")
        }
        logger.notice("recreates its producer after: \(error)")
        output = try Self.makeOutput(context, patience, logger)
    }

    /// Handles errors that no call returned.
    mutating func considerErrors(_ errors: [KafkaError]) throws {
        for error in errors {
            if error.kind == .offsetOutOfRange {
                throw PipelineError.decisionNeeded(
                    "\(context.settings.source) no longer has the next offset of the group \(context.settings.group) "
                        + "(\(error)): records were deleted before they were expanded; move the group to where it shall continue"
                )
            }
            if error.isFatal { throw error }
            if try patience.consider(error) { logger.warning("\(error); waiting") }
        }
    }

    /// Ends the open transaction after an error: what the group has says whether it counts.
    mutating func endTransaction(after error: KafkaError) throws {
        if !open.isEmpty { context.meter.aborted() }
        if let refusal = output.transaction.takeRefusal() ?? (error.kind.traits.isOfRecord ? error : nil) {
            throw PipelineError.unplaceableRecord("the broker refuses a record, and always would: \(refusal)")
        }
        if try patience.consider(error) { logger.warning("\(error); tried again") }
        nextAttempt = .now + backoff.next()
        switch error.recovery {
        case .abortTransaction, .giveUp: try abort()
        case .retry, .recreateClient: try replaceOutput(after: error)
        }
    }

    /// Continues from what the group has committed.
    mutating func recover(from error: KafkaError) throws {
        try endTransaction(after: error)
        guard consumer.fatalError == nil else {
            logger.notice("recreates its consumer after: \(error)")
            removeAll()
            group = nil
            phase = .unassigned
            context.isReading.store(false, ordering: .relaxed)
            consumer.leave(timeout: .seconds(10))
            consumer = try Self.makeConsumer(context, logger)
            return
        }
        try startAgain()
    }
}
