import Hosting
import KafkaClient

extension StreamWorker where T: ~Copyable {
    /// Recovers from an error, and from what goes wrong meanwhile.
    mutating func recoverFully(from error: any Error) throws {
        var error = error
        while true {
            if error is PipelineError || error is PipelineEnded { throw error }
            do {
                return try recover(from: error)
            } catch var next as KafkaError where next.client == .member {
                // A consumer that cannot go back is of no use.
                next.recovery = .recreateClient
                error = next
            } catch let next {
                error = next
            }
        }
    }

    /// Brings the worker back to its last commit after an error, ready to continue.
    private mutating func recover(from error: any Error) throws {
        nextAttempt = now + backoff.next()
        guard let error = error as? KafkaError else {
            if try tenant.consider(error) { return try startAgain() }
            try end(transactions.dropped())
            return try rewind()
        }
        fencings.consider(error, now: now)
        fencings.isOwnTimeout = transactions.unended.map { now - $0.began >= contract.transactionTimeout } ?? false
        // The delivery reports say whether a record was refused.
        transaction.poll()
        let remedy = Remedy(after: error, refusals: transaction.takeFailures(), consumer: consumer.fatalError)
        switch remedy {
        case .isolate(let refusal):
            try tenant.refused(refusal)
            // A probe of the clock is in no transaction of its tenant's, and would be committed with the next one.
            try end(transactions.isIdle ? transactions.failed(error) : transactions.dropped())
            try rewind()
            // It is looked for at once.
            nextAttempt = now
        case .replaceFailedConsumer(let fatal):
            // What the group said during a long call is still to be heard: partitions that it took explain a fencing
            // (ADR 16).
            try serveGroup(timeout: .zero)
            try replaceConsumer(after: fatal)
        case .replaceConsumer:
            try report(error)
            try replaceConsumer(after: error)
        case .rewind(let isOutOfRange):
            if isOutOfRange, let end = tenant.overtaken(error) { throw end }
            try report(error)
            if fencings.isOwnTimeout { tenant.outlasted() }
            // Out of range, librdkafka has stopped reading, and cannot seek (2.0.2 answers `_STATE`).
            try isOutOfRange ? startAgain() : endTransaction(after: error)
        }
    }

    private func report(_ error: KafkaError) throws {
        if let line = try host.consider(error, patience) {
            logger.warning("\(line)", ["recovery": "\(error.recovery)"])
        }
    }

    /// A transaction whose end is unknown is decided in the rounds that follow: meanwhile nothing is read or written.
    private mutating func endTransaction(after error: KafkaError) throws {
        let isUnknown = transaction.isEndUnknown && !transactions.isIdle
        guard isUnknown else {
            try end(transactions.failed(error))
            return try rewind()
        }
        _ = transactions.dropped()
        unknown = UnknownEnd(sent: sent, before: committed)
        // What the old producer has sent could end a later transaction (docs/kafka.md 4).
        try replaceProducer(after: error)
    }

    /// Recreates the producer under the same transactional id, which ends whatever its predecessor left open.
    mutating func replaceProducer(after error: KafkaError) throws {
        if error.kind == .fenced { try considerFencing(error) }
        logger.notice("recreates its producer after: \(error)")
        if !partitions.isEmpty { tenant.report(.locating, lag: lag) }
        let transaction = transaction
        // A lane that drains has answers to commit that nobody else has.
        try host.untilItWorks(logger, patience, whileDraining: keepsAll) { () throws(KafkaError) in
            try transaction.renew()
        }
        tenant.replacedClient()
        report()
    }

    /// Tells a slot that another process took from a transaction that timed out (docs/code.md §6, "Slots").
    private mutating func considerFencing(_ error: KafkaError) throws {
        let fatal = contract.isStatic ? try awaitConsumerFencing(within: .seconds(5)) : nil
        switch fencings.judge(error, consumer: fatal, isStatic: contract.isStatic, now: now) {
        case .newProducer: return
        case .slotTaken(let error): throw slotTaken(error)
        case .tooOften:
            throw PipelineError.defect("slot \(contract.slot) was fenced three times in 10 minutes: \(error)")
        }
    }

    /// Serves the group until the consumer is fenced as well.
    ///
    /// The consumer is looked at before the group is served: when this returns its fencing, all that the group said
    /// before it has been processed (ADR 16).
    private mutating func awaitConsumerFencing(within limit: Duration) throws -> KafkaError? {
        let end = now + limit
        while true {
            let fatal = consumer.fatalError.flatMap { $0.kind == .fencedInstanceID ? $0 : nil }
            let isLast = fatal != nil || now >= end || host.mustStop
            try serveGroup(timeout: isLast ? .zero : .milliseconds(100))
            if isLast { return fatal }
        }
    }

    private mutating func replaceConsumer(after fatal: KafkaError) throws {
        if fatal.kind == .fencedInstanceID, !fencings.mayBeOwnDoing(now: now) { throw slotTaken(fatal) }
        logger.notice("recreates its consumer after: \(fatal)")
        try end(transactions.dropped())
        // Its records would keep the old one in the group, which would wait for it until max.poll.interval.ms.
        release()
        consumer.leave(timeout: .seconds(10))
        consumer = try Self.makeMember(contract, of: &tenant, logger)
        fencings.noteNewConsumer()
        tenant.replacedClient()
    }

    private func slotTaken(_ error: KafkaError) -> PipelineError {
        .instanceInUse(
            "another process has taken slot \(contract.slot): every process needs its own instance.id (\(error))")
    }

    /// Handles errors that no call returned: fatal ones are thrown, to be recovered from; the rest is logged.
    mutating func considerErrors(_ errors: [KafkaError]) throws {
        for error in errors {
            fencings.consider(error, now: now)
            if error.kind == .offsetOutOfRange {
                if let end = tenant.overtaken(error) { throw end }
                var error = error
                error.recovery = .abortTransaction
                throw error
            }
            if error.kind == .allBrokersDown { host.health.brokersAreDown("\(error)", of: contract.slot.label) }
            if error.kind == .fencedInstanceID, !fencings.mayBeOwnDoing(now: now) { throw slotTaken(error) }
            if error.isFatal { throw error }
            if error.kind == .authorization, patience.isStarting { refusal = error }
            if let line = try host.consider(error, patience) { logger.warning("\(line); waiting") }
        }
    }
}
