import Hosting
import KafkaClient
import Telemetry

/// A thread that works in Kafka transactions: the one machinery of every ``Tenant``.
///
/// ``AssignmentMachine`` and ``TransactionMachine`` decide what comes next, `Remedy` what an error takes; the worker makes
/// the calls: for the group in `StreamWorker+Assignment`, for the transaction in `+Transaction`, after an error in
/// `+Recovery`. Each round serves the group, and no call in it takes long but those of a transaction.
package struct StreamWorker<T: Tenant & ~Copyable>: ~Copyable, GroupWorker {
    let contract: Contract
    let host: RoleHost
    /// Of whoever has its own topics and group: another one's work says nothing of what this one may do.
    let patience: Patience
    let metrics: Metrics
    let logger: Logger
    var tenant: T
    let transaction: Transaction
    var consumer: any MemberClient & ~Copyable
    var assignment = AssignmentMachine<TopicPartition>()
    var transactions = TransactionMachine<TransactionTime>()
    /// How often the group has assigned partitions.
    var assignments = 0
    /// What is read, and what the group has of it.
    var partitions: [TopicPartition] = []
    var committed: [TopicPartition: CommittedOffset] = [:]
    /// Nothing waited to be read at some moment since the transaction began: whatever waits now is younger than it.
    var hasCaughtUp = false
    /// What the transaction commits that is being committed.
    var sent: [TopicPartition: CommittedOffset] = [:]
    var unknown: UnknownEnd?
    /// Since its partitions are given up once the tenant has let go of them.
    var parting: Parting?
    /// See ``Findings/highs``; nil before they were asked for.
    var highs: [TopicPartition: Offset]?
    /// In the order of the contract's.
    let inputs: [InputQueue]
    /// Records of its partitions that are not read yet; nil before the first measurement.
    var lag: [TopicPartition: Int]?
    var clock = ClockCheck()
    var hungTransactions = HungTransactionWatch()
    /// A refusal at the start: librdkafka reports some of them once and retries without another report.
    var refusal: KafkaError?
    var fencings = Fencings()
    var backoff = Backoff()
    /// Nothing is tried before; after an error.
    var nextAttempt: ContinuousClock.Instant

    struct Parting {
        /// Whether the worker ends.
        let isLast: Bool
        /// How long it may take, and until when, where the group waits.
        let limit: Duration?
        var until: ContinuousClock.Instant?
    }

    /// Waits for the broker as long as it takes.
    ///
    /// - Parameter patience: nil: the role's.
    package init(
        _ contract: Contract, _ host: RoleHost, _ metrics: Metrics, patience: Patience? = nil, logger: Logger,
        _ makeTenant: (Transaction) throws -> T
    ) throws {
        let patience = patience ?? host.patience
        let transaction = try host.untilItWorks(logger, patience) { () throws(KafkaError) in
            try Transaction(contract, host, logger: logger.clientSink)
        }
        var tenant = try makeTenant(transaction)
        self.consumer = try Self.makeMember(contract, of: &tenant, logger)
        self.tenant = tenant
        self.transaction = transaction
        self.contract = contract
        let now = host.time.now()
        inputs = contract.inputs.map { InputQueue($0, readsHeaders: contract.readsHeaders, now: now) }
        nextAttempt = now
        self.host = host
        self.patience = patience
        self.metrics = metrics
        self.logger = logger
    }

    static func makeMember(
        _ contract: Contract, of tenant: inout T, _ logger: Logger
    ) throws(KafkaError) -> any MemberClient & ~Copyable {
        var contract = contract
        contract.memberSettings = tenant.memberSettings(contract.memberSettings)
        return try contract.clients.member(contract, logger.clientSink)
    }

    /// Works until the role drains or stops.
    ///
    /// - Throws: ``PipelineError`` where a person has to act.
    package mutating func run() throws {
        do {
            while !host.mustStop {
                do {
                    if try round() { return }
                } catch {
                    try recoverFully(from: error)
                }
            }
        } catch {
            transaction.abandon()
            throw error
        }
    }

    /// One round.
    ///
    /// - Returns: whether the worker has ended.
    mutating func round() throws -> Bool {
        contract.signal?.lower()
        try serveControl()
        if let refusal { try considerErrors([refusal]) }
        let isDue = now >= nextAttempt && unknown == nil
        let isClockRight = isDue && !mustEnd ? try isClockRight() : clock.isRight(host)
        tenant.hear(host.clock.now(), isClockRight: isClockRight)
        report()
        if mustEnd, parting == nil {
            try commit()
            part(isLast: true)
        }
        if let unknown, parting.map({ keepsAll && !isOver($0) }) ?? true {
            if now >= nextAttempt { try decide(unknown) } else { wait() }
            return false
        }
        if let parting { return try give(parting) }
        let mayWork = isClockRight || !clockGatesAll
        switch assignment.phase {
        case .locating(let search) where isDue && mayWork, .starting(let search) where isDue && mayWork:
            try locate(search)
        case .reading where mayWork && (isDue || keepsAll):
            if !isDue { wait() }
            do {
                try work()
            } catch let error as KafkaError where keepsAll && transactions.isIdle {
                // What the tenant knows counts, although it cannot go on.
                try commitIfDue()
                throw error
            }
        case .unassigned, .locating, .starting, .reading: wait()
        }
        return false
    }

    private var clockGatesAll: Bool {
        switch contract.clock {
        case .gatesAll: true
        case .gatesSome, .gatesNothing: false
        }
    }

    var keepsAll: Bool {
        switch contract.keeping {
        case .everything: true
        case .nothing: false
        }
    }

    /// Whether the role ends, or the worker is to be made anew by a clock that was set.
    private var mustEnd: Bool { host.mustEnd || keepsAll && clock.agreed ?? host.clock.changes != host.clock.changes }

    /// There is nothing to do before the group, the broker or the clock has moved.
    mutating func wait() {
        if contract.signal == nil {
            host.time.sleep(.milliseconds(20))
        } else {
            consumer.waitForRecords(in: [], timeout: .milliseconds(20))
        }
    }

    var now: ContinuousClock.Instant { host.time.now() }

    /// Whether the clock may say what is over. What is open is committed before the broker is asked.
    private mutating func isClockRight() throws -> Bool {
        let isRight = clock.isRight(host)
        if clockGatesAll, !isRight { try keepsAll ? commitIfDue() : commit() }
        let isLookDue =
            switch contract.clock {
            case .gatesAll, .gatesSome: !isRight && clock.isLookDue(host, now: now)
            case .gatesNothing: false
            }
        let isAsked = tenant.asksForTime(now)
        guard isLookDue || isAsked else { return isRight }
        if !keepsAll { try commit() }
        let (record, output) = try tenant.clockRecord()
        let before = host.clock.now(now)
        let brokerTime = try transaction.brokerTime(by: record, in: output)
        if isLookDue { clock.compare(brokerTime, host, of: contract.slot.label, logger) }
        if isAsked { tenant.heard(brokerTime, at: before) }
        return clock.isRight(host)
    }

    private mutating func work() throws {
        // Before the tenant looks at what it knows, which a new producer would let grow old.
        if transactions.isIdle, !keepsAll, transaction.hasRepeatedRequests {
            try replaceProducer(after: .repeatedRequest)
        }
        let isFresh = try tenant.refresh(isIdle: transactions.isIdle)
        var mayTake = isFresh
        if isFresh { try askForEnds() }
        if transactions.isIdle, isFresh {
            mayTake = try lookAhead()
            if mayTake { try act() }
        }
        if mayTake { try take() }
        // Without a transaction: another tenant's would be open before there is something to do.
        if mayTake, keepsAll { try tenant.tick(moment()) }
        noteWaiting()
        try commitIfDue()
        guard try tenant.tend() else { return try startAgain() }
        guard isFresh else { return wait() }
        try waitForRecords()
    }

    private mutating func act() throws {
        let hasWritten = try tenant.act(moment())
        if keepsAll { return }
        if hasWritten {
            try host.reach(.afterProduce, worker: contract.slot.number)
        } else {
            try transactions.unused()
        }
    }

    private mutating func askForEnds() throws {
        let time = host.clock.now(now)
        let partitions = tenant.endsToAsk(time)
        guard !partitions.isEmpty else { return }
        do throws(KafkaError) {
            tenant.found(ends: try consumer.endOffsets(partitions, timeout: .seconds(2)), at: time)
        } catch {
            if error.isFatal { throw error }
            if let line = try host.consider(error, patience) {
                logger.warning("timers wait, the end of their partition is not known: \(line)")
            }
        }
    }

    private mutating func noteWaiting() {
        guard contract.commitIntervalBehind > contract.commitInterval, !hasCaughtUp else { return }
        // What is not wanted now keeps nothing else waiting.
        for (number, input) in inputs.enumerated() where tenant.wants(number) {
            guard input.isTaken, consumer.waitingRecords(in: number) == 0 else { return }
        }
        hasCaughtUp = true
    }

    /// Takes what is left of the last batch of each input that is wanted, and its next one, as far as there is room. Of
    /// several inputs, one that had something left waits for the others' next batches, unless nothing waits for a
    /// transaction.
    mutating func take() throws {
        let again = tenant.takeBack()
        if !again.isEmpty {
            do throws(KafkaError) {
                try consumer.seek(to: again, timeout: .seconds(5))
            } catch {
                // The tenant does not ask twice.
                var error = error
                error.recovery = .recreateClient
                throw error
            }
        }
        for (number, input) in inputs.enumerated() {
            guard tenant.wants(number) else {
                input.watch.progressed(now: now)
                continue
            }
            let isNext = input.isTaken || inputs.count == 1 || keepsAll
            try take(from: input, number)
            guard input.isTaken else { continue }
            if !input.batch.endsOfPartition.isEmpty { try takeEnds(of: input) }
            guard isNext, tenant.wants(number) else { continue }
            try fill(number, timeout: .zero)
            tenant.asked(number, appended: input.batch.isEmpty ? nil : input.batch[0].timestamp ?? .epoch)
            try take(from: input, number)
            if input.isTaken, !input.batch.endsOfPartition.isEmpty { try takeEnds(of: input) }
        }
    }

    private mutating func take(from input: InputQueue, _ number: Int) throws {
        guard !input.isTaken else { return }
        let wasIdle = transactions.isIdle
        let first = input.next
        input.next = try tenant.take(input.batch, from: first, of: number, moment())
        if wasIdle, input.next == first, !keepsAll { try transactions.unused() }
    }

    private func isNew(_ end: (partition: TopicPartition, offset: Offset)) -> Bool {
        end.offset.value > tenant.position(end.partition) ?? -1
    }

    /// The ends of partitions count once every record before them was taken; they come once.
    private mutating func takeEnds(of input: InputQueue) throws {
        for end in input.batch.endsOfPartition where isNew(end) {
            _ = try moment()
            tenant.reached(end.offset.value, of: end.partition)
        }
    }

    /// The next batch of an input; nothing of the one before is left to take.
    mutating func fill(_ number: Int, timeout: Duration) throws {
        let input = inputs[number]
        try takeEnds(of: input)
        input.removeAll()
        tenant.willRead()
        consumer.fill(
            &input.batch, from: number, limit: contract.batchRecords, maxBytes: contract.batchBytes, timeout: timeout)
        tenant.didRead(input.batch.byteCount)
        metrics.countUnreadable(input.batch.unreadable)
        try considerErrors(input.batch.errors)
        try watchConsumer(of: input)
    }

    /// Waits for records of the inputs that are wanted and were taken.
    private mutating func waitForRecords() throws {
        if inputs.count == 1, contract.signal == nil {
            guard tenant.wants(0) else { return host.time.sleep(patienceForRecords) }
            guard inputs[0].isTaken else { return }
            // An end that begins a transaction is for the next round, which looks at what the tenant knows.
            if transactions.isIdle, inputs[0].batch.endsOfPartition.contains(where: { isNew($0) }) { return }
            try fill(0, timeout: patienceForRecords)
        } else {
            let wanted = inputs.indices.filter { inputs[$0].isTaken && tenant.wants($0) }
            tenant.willRead()
            consumer.waitForRecords(in: wanted, timeout: patienceForRecords)
            // A tenant that keeps what it knows is told of all that was asked for.
            if keepsAll { return }
            let found = wanted.filter { consumer.waitingRecords(in: $0) > 0 }
            if found.isEmpty { tenant.didRead(0) }
            for number in found { try fill(number, timeout: .zero) }
        }
    }

    /// How long nothing else is to be done.
    private var patienceForRecords: Duration {
        let isLeft = inputs.indices.contains { !inputs[$0].isTaken && (keepsAll || tenant.wants($0)) }
        if isLeft { return keepsAll ? min(tenant.patience, .milliseconds(20)) : .zero }
        guard let open = transactions.open else { return tenant.patience }
        return max(.zero, min(tenant.patience, open.began + contract.commitInterval - now))
    }

    /// Checks a consumer that has got nothing of an input for a long time (docs/kafka.md 11).
    mutating func watchConsumer(of input: InputQueue) throws(KafkaError) {
        guard input.batch.isEmpty, input.batch.endsOfPartition.isEmpty else {
            refusal = nil
            return input.watch.progressed(hasRecords: !input.batch.isEmpty, now: now)
        }
        guard input.watch.isCheckDue(now: now) else { return }
        let partitions = self.partitions.filter { $0.topic == input.topic && tenant.position($0) != nil }
        guard let ends = try? consumer.endOffsets(partitions, timeout: .seconds(2)) else {
            return input.watch.progressed(now: now)
        }
        let isStuck = input.watch.isStuck(
            ends: ends.mapValues(\.value), reached: { tenant.position($0) ?? .max }, now: now)
        if isStuck { throw .stuckConsumer }
    }

    /// What was read and not taken. The tenant may point into it.
    mutating func forgetRecords() {
        tenant.forgetRecords()
        for input in inputs { input.removeAll() }
    }

    mutating func report() {
        let state: WorkerState =
            switch assignment.phase {
            case .unassigned: .joining
            case .locating, .starting: .locating
            case .reading: unknown == nil && parting == nil ? .reading : .locating
            }
        tenant.report(state, lag: lag)
        host.health.consumerIsHopeless(inputs.contains { $0.watch.isHopeless }, of: contract.slot.label)
    }

    /// Leaves the group, or stays its static member, and frees the clients.
    package consuming func close() {
        // After an error; otherwise it has released them.
        forgetRecords()
        tenant.release(.toOthers)
        tenant.close()
        consumer.leave(timeout: .seconds(10))
    }
}
