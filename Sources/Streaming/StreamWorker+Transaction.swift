import Hosting
import KafkaClient

extension StreamWorker where T: ~Copyable {
    /// The open transaction, or a new one.
    mutating func open() throws -> TransactionTime {
        if let open = transactions.open { return open }
        switch try transactions.begin(hasRepeatedRequests: transaction.hasRepeatedRequests) {
        case .nothing, .begin: break
        case .replaceProducerAndBegin: try replaceProducer(after: .repeatedRequest)
        }
        let time = TransactionTime(clock: host.clock.now(now), began: now)
        try transactions.begun(time)
        hasCaughtUp = false
        return time
    }

    /// That of the open transaction, or of a new one; now, for a tenant that works without.
    mutating func moment() throws -> TransactionTime {
        guard keepsAll else { return try open() }
        let now = now
        return TransactionTime(clock: host.clock.now(now), began: now)
    }

    mutating func commitIfDue() throws {
        guard now >= nextAttempt else { return }
        let isOpen = !transactions.isIdle
        let interval = hasCaughtUp ? contract.commitInterval : contract.commitIntervalBehind
        let isOld = transactions.open.map { now - $0.began >= interval } ?? false
        guard isOld || tenant.mustCommit(isOpen: isOpen) else { return }
        _ = try open()
        try commit()
    }

    /// Commits the open transaction, if there is one.
    ///
    /// - Throws: what ``recoverFully(from:)`` can deal with; the transaction is then still to be ended.
    mutating func commit() throws {
        guard let time = transactions.commit() else { return }
        // What is only written at the end is flushed by the commit, which then says why a topic is refused.
        if transaction.isBegun { transaction.deliverSoon() }
        guard let offsets = try tenant.finish(time) else {
            _ = try transactions.committed()
            return
        }
        sent = offsets
        switch assignment.group {
        case .some(let group): try transaction.commit(offsets, group)
        case .none: throw KafkaError.lostAssignment
        }
        _ = try transactions.committed()
        noteCommit(of: offsets)
    }

    private mutating func noteCommit(of offsets: [TopicPartition: CommittedOffset]) {
        tenant.committed()
        committed.merge(offsets) { $1 }
        backoff.reset()
        patience.hasWorked()
        host.patience.hasWorked()
        host.health.brokersAreDown(nil, of: contract.slot.label)
    }

    /// Ends a transaction as its error asks for; the producer is usable afterwards.
    mutating func end(_ action: TransactionMachine<TransactionTime>.EndAction) throws {
        switch action {
        case .nothing: return
        case .abort:
            tenant.aborted()
            do throws(KafkaError) {
                try transaction.abort()
            } catch {
                try replaceProducer(after: error)
            }
        case .replaceProducer(let error): try replaceProducer(after: error)
        case .forgetAndReplaceProducer(let error):
            tenant.aborted()
            try replaceProducer(after: error)
        }
    }

    /// Asks the group what it has committed, once a round: that says whether the transaction was.
    mutating func decide(_ unknown: UnknownEnd) throws {
        guard let found = try committedIfStable(Array(unknown.sent.keys)) else { return }
        switch unknown.outcome(found) {
        case .committed:
            self.unknown = nil
            noteCommit(of: unknown.sent)
        case .aborted:
            self.unknown = nil
            tenant.aborted()
            try rewind()
        case .neither: try startAgain()
        }
    }

    /// - Returns: nil while a transaction has not ended that wrote offsets of these partitions.
    private mutating func committedIfStable(
        _ partitions: [TopicPartition]
    ) throws(KafkaError) -> [TopicPartition: CommittedOffset]? {
        do throws(KafkaError) {
            return try consumer.committed(partitions, timeout: .seconds(1))
        } catch {
            guard error.recovery == .retry else { throw error }
            nextAttempt = now + .milliseconds(200)
            if patience.isDue("committed", now: now) {
                logger.warning("it is not known yet whether a transaction was committed: \(error)")
            }
            return nil
        }
    }
}
