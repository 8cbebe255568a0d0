import KafkaClient

/// Writes records to live topics, one transaction for each call, and tells when the log alone knows how one ended.
///
/// It stores no position: what a run has sent is what the log has with its ``header``. The `transactional.id` is
/// `carillon-replay-<id>`, whose next producer fences this one. One owner, one thread.
package struct ResendProducer: ~Copyable, ResendWriter {
    /// Receives progress messages for a waiting person, one line each.
    package typealias Tell = (String) -> Void

    /// The header with the id, on every record that it writes, whatever the topic.
    static let header = DispatchHeader.replay.text

    package let id: String
    private let context: ReplayContext
    private let targets: [String]
    package let tell: Tell
    private var producer: Producer
    /// When the last transaction began; nil: there was none.
    private var began: ContinuousClock.Instant?
    /// Transactions aborted in a row. An abort does not always repair the client's sequence numbers;
    /// a new client does.
    private var aborts = 0
    private static let mostAborts = 3

    /// - Parameters:
    ///   - id: see ``ResendID``.
    ///   - targets: the topics that it writes to.
    package init(id: String, to targets: [String], _ context: ReplayContext, tell: @escaping Tell) throws {
        let producer = try Self.makeProducer(id, targets, context)
        self.id = id
        self.context = context
        self.targets = targets
        self.tell = tell
        self.producer = producer
    }

    /// Fences a process with the same id, ends its open transaction, and waits until all that it committed can be read.
    /// Call it first.
    package mutating func takeOver() throws {
        try untilItWorks { me throws in try me.producer.initTransactions(deadline: .seconds(2)) }
        try awaitLog()
    }

    private mutating func awaitLog() throws {
        try untilItWorks { me throws in
            var log = try KafkaLog(me.context)
            let patience = me.context.configuration.transactionTimeout + .seconds(20)
            // Another producer's open transaction hides what was committed after it.
            for topic in me.targets { _ = try log.settledBounds(of: topic, timeout: patience) }
        }
    }

    private static func makeProducer(
        _ id: String, _ targets: [String], _ context: ReplayContext
    ) throws(KafkaError) -> Producer {
        var producer = try Producer(
            settings: context.configuration.transactionSettings, transactionalID: "carillon-replay-\(id)",
            logger: context.logger)
        for topic in targets { _ = try producer.topic(topic) }
        return producer
    }

    package mutating func send(_ records: [ResendRecord]) throws -> Bool {
        guard !records.isEmpty else { return true }
        if producer.hasRepeatedRequests {
            try renew(after: "a request was sent twice, its first copy may still be on its way")
            return false
        }
        let start = ContinuousClock.now
        began = start
        do {
            try attempt(records)
        } catch let error as KafkaError {
            try settle(error, began: start)
            if mustStop { throw ReplayStopped() }
            return false
        }
        aborts = 0
        return true
    }

    package mutating func wait(until time: ContinuousClock.Instant) {
        while .now < time, !mustStop {
            producer.poll(timeout: min(.milliseconds(100), time - .now))
        }
    }

    package var mustStop: Bool { context.isStopped() }

    // MARK: One transaction

    private mutating func attempt(_ records: [ResendRecord]) throws {
        let mark = RecordHeader(Self.header, Array(id.utf8))
        try producer.beginTransaction()
        for (topic, record) in records {
            var record = record
            record.headers.append(mark)
            let handle = try producer.topic(topic)
            try producer.produce(record, to: handle)
        }
        // In slices, so that a person is told when the broker is unreachable.
        let deadline = ContinuousClock.now + context.configuration.transactionTimeout + .seconds(10)
        while true {
            do {
                return try producer.commitTransaction(deadline: .seconds(3))
            } catch {
                guard error.recovery == .retry, .now < deadline else { throw error }
                if mustStop { throw ReplayStopped() }
                tell("\(error); waiting")
            }
        }
    }

    /// Ends a failed transaction.
    private mutating func settle(_ error: KafkaError, began: ContinuousClock.Instant) throws {
        producer.poll(timeout: .zero)
        let failures = producer.takeFailures().map(\.error) + [error]
        if let refusal = failures.first(where: { $0.kind.traits.isOfRecord }) {
            try abort(after: refusal)
            throw RecordRefused(error: refusal)
        }
        // A transaction that the broker timed out looks like one fenced by a successor. If it was, this producer fences
        // the successor in turn, which then ends: each looks at the log before it sends.
        if error.kind == .fenced, .now - began < context.configuration.transactionTimeout {
            throw ResendTakenOver(id: id)
        }
        if error.needsAPerson { throw error }
        guard error.recovery == .abortTransaction, aborts < Self.mostAborts else {
            aborts = 0
            return try renew(after: "\(error)")
        }
        aborts += 1
        tell("\(error); retrying")
        try abort(after: error)
    }

    private mutating func abort(after error: KafkaError) throws {
        do {
            try producer.abortTransaction(deadline: .seconds(10))
        } catch {
            try renew(after: "\(error)")
        }
    }

    /// Replaces the producer, so that the log shows how the last transaction ended.
    private mutating func renew(after reason: String) throws {
        tell("recreates its producer after: \(reason)")
        try untilItWorks { me throws in
            me.producer = try Self.makeProducer(me.id, me.targets, me.context)
            try me.producer.initTransactions(deadline: .seconds(10))
        }
        try awaitLog()
    }

    /// Does what a broker that is away keeps from being done until it works.
    private mutating func untilItWorks(_ body: (inout ResendProducer) throws -> Void) throws {
        var lastTold: ContinuousClock.Instant?
        while true {
            do {
                return try body(&self)
            } catch let error as KafkaError {
                if error.kind == .fenced { throw ResendTakenOver(id: id) }
                // A broker that has only just come back may not know its topics yet.
                let isComingBack = error.kind == .unknownTopicOrPartition && began != nil
                if !isComingBack, error.needsAPerson || error.recovery == .giveUp { throw error }
                if mustStop { throw ReplayStopped() }
                if lastTold.map({ .now - $0 > .seconds(10) }) ?? true {
                    lastTold = .now
                    tell("\(error); waiting")
                }
                wait(until: .now + .milliseconds(200))
            }
        }
    }
}

/// Another process was started with the same id: it continues, and this one sends nothing more.
package struct ResendTakenOver: Error, CustomStringConvertible {
    package var id: String

    package var description: String {
        "replay \(id) is in use: another process was started with the same --id and continues it; this one sends nothing more"
    }
}

/// A record that the broker rejects, such as one that is too large. Nothing of its transaction was sent.
package struct RecordRefused: Error {
    package var error: KafkaError
}
