import Foundation
import Hosting
import KafkaClient
import Telemetry

/// A thread that works in Kafka transactions: the one machinery of every ``Tenant``.
///
/// ``AssignmentMachine`` and ``TransactionMachine`` decide what comes next, `Remedy` what an error takes; the worker makes
/// the calls: for the group in `StreamWorker+Assignment`, for the transaction in `+Transaction`, after an error in
/// `+Recovery`. Each round serves the group, and no call in it takes long but those of a transaction.
package struct StreamWorker<T: Tenant & ~Copyable>: ~Copyable, GroupWorker {
    static var batchSize: Int { 1_000 }

    let contract: Contract
    let host: RoleHost
    let metrics: Metrics
    let logger: Logger
    var tenant: T
    let transaction: Transaction
    var consumer: Consumer
    var assignment = AssignmentMachine<TopicPartition>()
    var transactions = TransactionMachine<TransactionTime>()
    /// How often the group has assigned partitions.
    var assignments = 0
    /// What the group has of its partitions, and where they are read from after an abort.
    var committed: [TopicPartition: CommittedOffset] = [:]
    var positions: [TopicPartition: Offset] = [:]
    /// What the transaction commits that is being committed.
    var sent: [TopicPartition: CommittedOffset] = [:]
    var unknown: UnknownEnd?
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
    var nextAttempt = ContinuousClock.now

    /// Waits for the broker as long as it takes.
    package init(
        _ contract: Contract, _ host: RoleHost, _ metrics: Metrics, logger: Logger,
        _ makeTenant: (Transaction) throws -> T
    ) throws {
        let transaction = try host.untilItWorks(logger) { () throws(KafkaError) in
            try Transaction(contract, host, logger: logger.clientSink)
        }
        let consumer = try contract.makeConsumer(logger: logger.clientSink)
        self.tenant = try makeTenant(transaction)
        self.transaction = transaction
        self.consumer = consumer
        self.contract = contract
        inputs = contract.inputs.map { InputQueue($0, readsHeaders: contract.readsHeaders) }
        self.host = host
        self.metrics = metrics
        self.logger = logger
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
        try serveControl()
        if let refusal { try considerErrors([refusal]) }
        if host.mustEnd {
            try commit()
            release()
            return true
        }
        report()
        guard .now >= nextAttempt else {
            wait()
            return false
        }
        if let unknown {
            try decide(unknown)
            return false
        }
        switch assignment.phase {
        case .unassigned: wait()
        case .locating(let search), .starting(let search):
            if try isClockRight() { try locate(search) } else { wait() }
        case .restoring, .reading: if try isClockRight() { try work() } else { wait() }
        }
        return false
    }

    /// There is nothing to do before the group, the broker or the clock has moved.
    func wait() { Thread.sleep(forTimeInterval: 0.02) }

    /// Whether the clock may say what is over. What is open is committed before the broker is asked.
    private mutating func isClockRight() throws -> Bool {
        if clock.isRight(host) { return true }
        try commit()
        if clock.isLookDue(host) {
            let (record, output) = try tenant.clockRecord()
            clock.compare(try transaction.brokerTime(by: record, in: output), host, of: contract.slot.label, logger)
        }
        return clock.isRight(host)
    }

    private mutating func work() throws {
        let isFresh = try tenant.refresh(isIdle: transactions.isIdle)
        var mayTake = isFresh
        if transactions.isIdle, isFresh {
            mayTake = try lookAhead()
            try act()
        }
        if mayTake { try take() }
        try commitIfDue()
        guard try tenant.tend() else { return try startAgain() }
        guard isFresh else { return wait() }
        try waitForRecords()
    }

    private mutating func act() throws {
        if try tenant.act(open()) {
            try host.reach(.afterProduce, worker: contract.slot.number)
        } else {
            try transactions.unused()
        }
    }

    /// Takes a batch of each input that is wanted, as far as the transaction has room.
    mutating func take() throws {
        for (number, input) in inputs.enumerated() where tenant.wants(number) {
            if input.isTaken { try fill(number, timeout: .zero) }
            guard !input.isTaken else { continue }
            let wasIdle = transactions.isIdle
            let first = input.next
            let time = try open()
            input.next = try tenant.take(input.batch, from: first, of: number, time)
            if wasIdle, input.next == first { try transactions.unused() }
        }
    }

    /// The ends of partitions count once every record before them was taken; they come once.
    private mutating func takeEnds(of input: InputQueue) throws {
        for end in input.batch.endsOfPartition where end.offset.value > tenant.position(end.partition) ?? .max {
            _ = try open()
            tenant.reached(end.offset.value, of: end.partition)
        }
    }

    /// The next batch of an input; nothing of the one before is left to take.
    mutating func fill(_ number: Int, timeout: Duration) throws {
        let input = inputs[number]
        try takeEnds(of: input)
        input.removeAll()
        consumer.fill(&input.batch, from: number, limit: Self.batchSize, timeout: timeout)
        metrics.countUnreadable(input.batch.unreadable)
        try considerErrors(input.batch.errors)
        try watchConsumer(of: input)
    }

    /// Waits for records of the inputs that are wanted and were taken.
    private mutating func waitForRecords() throws {
        if inputs.count == 1 {
            if inputs[0].isTaken { try fill(0, timeout: patience) }
        } else {
            let wanted = inputs.indices.filter { inputs[$0].isTaken && tenant.wants($0) }
            consumer.waitForRecords(in: wanted, timeout: patience)
        }
    }

    /// How long nothing else is to be done.
    private var patience: Duration {
        guard let open = transactions.open else { return tenant.patience }
        return max(.zero, min(tenant.patience, open.began + contract.commitInterval - .now))
    }

    /// Checks a consumer that has got nothing of an input for a long time (docs/kafka.md 11).
    mutating func watchConsumer(of input: InputQueue) throws(KafkaError) {
        guard input.batch.isEmpty, input.batch.endsOfPartition.isEmpty else {
            refusal = nil
            return input.watch.progressed(hasRecords: !input.batch.isEmpty)
        }
        guard input.watch.isCheckDue() else { return }
        let partitions = positions.keys.filter { $0.topic == input.topic && tenant.position($0) != nil }
        guard let ends = try? consumer.endOffsets(partitions, timeout: .seconds(2)) else {
            return input.watch.progressed()
        }
        let isStuck = input.watch.isStuck(ends: ends.mapValues(\.value), reached: { tenant.position($0) ?? .max })
        if isStuck { throw .stuckConsumer }
    }

    /// What was read and not taken.
    func forgetRecords() {
        for input in inputs { input.removeAll() }
    }

    private func report() {
        var isReading = false
        if case .reading = assignment.phase { isReading = unknown == nil }
        tenant.report(isReading: isReading, lag: lag)
        host.health.consumerIsHopeless(inputs.contains { $0.watch.isHopeless }, of: contract.slot.label)
    }

    /// Leaves the group, or stays its static member, and frees the clients.
    package consuming func close() {
        // After an error; otherwise it has released them.
        tenant.release()
        forgetRecords()
        consumer.close()
    }
}
