import Foundation
import KafkaClient

/// Writes records to a live topic exactly once, across crashes, lost responses and concurrent starts: each transaction
/// carries records and the position after them, and the next process resumes at the last committed position.
///
/// Both names are `carillon-replay-<id>`: the `transactional.id`, whose next producer fences this one, and the group
/// that the positions are committed under, which nobody joins. One owner, one thread.
package struct RedriveProducer: ~Copyable {
    /// Receives progress messages for a waiting person, one line each.
    package typealias Tell = (String) -> Void

    /// The header with the id, on every record that it writes, whatever the topic.
    static let header = DispatchHeader.replay.text

    package let id: String
    private let context: ReplayContext
    private let sources: [String]
    private let target: String
    let tell: Tell
    private let owner: String
    /// The processes that may have committed the current positions: this one, and the one that it took over from.
    private var owners: Set<String>
    private var client: RedriveClient
    private var positions: [TopicPartition: RedrivePosition] = [:]
    private var began = ContinuousClock.now
    /// Transactions aborted in a row. An abort does not always repair the client's sequence numbers;
    /// a new client does.
    private var aborts = 0
    private static let mostAborts = 3

    /// - Parameters:
    ///   - id: see ``RedriveID``.
    ///   - sources: the topics whose positions it commits.
    ///   - target: the topic that it writes to where none is named, partitioned as the pipeline does.
    package init(
        id: String, from sources: [String], to target: String, _ context: ReplayContext, tell: @escaping Tell
    ) throws {
        let client = try RedriveClient(id: id, to: target, context.configuration, logger: context.logger)
        let owner = String(UUID().uuidString.prefix(13))
        self.id = id
        self.context = context
        self.sources = sources
        self.target = target
        self.tell = tell
        self.owner = owner
        owners = [owner]
        self.client = client
    }

    /// Fences a process with the same id, ends its open transaction, and takes its place. Call it first.
    ///
    /// - Returns: its position in each partition; empty: nothing was ever sent under this id, or the positions have
    ///   expired.
    package mutating func takeOver() throws -> [TopicPartition: RedrivePosition] {
        try untilItWorks { me throws in try me.client.producer.initTransactions(deadline: .seconds(2)) }
        let found = try readPositions()
        owners.formUnion(found.values.map(\.owner))
        positions = found.mapValues(\.position)
        // Tells the fenced process who took over.
        if !positions.isEmpty { try send([], reaching: positions) }
        return positions
    }

    /// Positions by partition of its first source.
    func keyed(_ positions: [Int32: RedrivePosition]) -> [TopicPartition: RedrivePosition] {
        var keyed: [TopicPartition: RedrivePosition] = [:]
        for (partition, position) in positions {
            keyed[TopicPartition(topic: sources[0], partition: partition)] = position
        }
        return keyed
    }

    /// Writes records and commits these positions atomically; retries until it succeeds.
    ///
    /// Appends ``header`` to the headers of each record.
    /// - Parameter next: by partition; missing partitions keep their position.
    /// - Throws: ``RecordRefused``, ``RedriveTakenOver``, ``ReplayStopped``, and errors that a retry cannot resolve.
    ///   The last transaction may nevertheless have been committed: only ``takeOver()`` shows it.
    package mutating func send(_ records: [ProducerRecord], reaching next: [TopicPartition: RedrivePosition]) throws {
        while try !sendOnce(records, reaching: next) {}
    }

    /// The same with one transaction, for a caller that checks again before the next one.
    ///
    /// - Returns: false if nothing was written and the positions are unchanged.
    mutating func sendOnce(_ records: [ProducerRecord], reaching next: [TopicPartition: RedrivePosition]) throws -> Bool
    {
        try sendOnce(records.map { (topic: target, record: $0) }, reaching: next)
    }

    /// The same with records of several topics.
    mutating func sendOnce(
        _ records: [(topic: String, record: ProducerRecord)], reaching next: [TopicPartition: RedrivePosition]
    ) throws -> Bool {
        do {
            try attempt(records, next)
        } catch let error as KafkaError {
            guard try settle(error, next) else {
                if context.isStopped() { throw ReplayStopped() }
                return false
            }
        }
        aborts = 0
        positions.merge(next) { $1 }
        return true
    }

    /// Waits between two transactions and serves client events meanwhile; returns early when it is stopped.
    package mutating func wait(until time: ContinuousClock.Instant) {
        while .now < time, !context.isStopped() {
            client.producer.poll(timeout: min(.milliseconds(100), time - .now))
        }
    }

    /// Whether it was stopped from outside.
    package var mustStop: Bool { context.isStopped() }

    // MARK: One transaction

    private mutating func attempt(
        _ records: [(topic: String, record: ProducerRecord)], _ next: [TopicPartition: RedrivePosition]
    ) throws {
        if client.producer.hasRepeatedRequests {
            _ = try renew(after: "a request was sent twice, its first copy may still be on its way", reaching: nil)
        }
        let mark = RecordHeader(Self.header, Array(id.utf8))
        var offsets: [TopicPartition: CommittedOffset] = [:]
        for (partition, position) in next {
            offsets[partition] = try OwnedPosition(position, owner: owner).committed()
        }
        // Asked for before the transaction: a topic's metadata may take long.
        for (topic, _) in records { _ = try client.producer.topic(topic) }
        began = .now
        try client.producer.beginTransaction()
        for (topic, record) in records {
            var record = record
            record.headers.append(mark)
            let handle = try client.producer.topic(topic)
            try client.producer.produce(record, to: handle)
        }
        try client.producer.sendOffsets(
            offsets, try client.reader.groupMetadata(), deadline: context.configuration.transactionTimeout)
        try commit()
    }

    /// In slices, so that a person is told when the broker is unreachable.
    private mutating func commit() throws {
        let deadline = ContinuousClock.now + context.configuration.transactionTimeout + .seconds(10)
        while true {
            do {
                return try client.producer.commitTransaction(deadline: .seconds(3))
            } catch {
                guard error.recovery == .retry, .now < deadline else { throw error }
                if context.isStopped() { throw ReplayStopped() }
                tell("\(error); waiting")
            }
        }
    }

    /// Ends a failed transaction.
    ///
    /// - Returns: whether it was committed after all.
    private mutating func settle(_ error: KafkaError, _ next: [TopicPartition: RedrivePosition]) throws -> Bool {
        client.producer.poll(timeout: .zero)
        let failures = client.producer.takeFailures().map(\.error) + [error]
        if let refusal = failures.first(where: { $0.kind.traits.isOfRecord }) {
            try abort(after: refusal)
            throw RecordRefused(error: refusal)
        }
        // A transaction that the broker timed out looks like one fenced by a successor.
        if error.kind == .fenced, .now - began < context.configuration.transactionTimeout {
            throw RedriveTakenOver(id: id)
        }
        if error.needsAPerson { throw error }
        guard error.recovery == .abortTransaction, aborts < Self.mostAborts else {
            aborts = 0
            return try renew(after: "\(error)", reaching: next)
        }
        aborts += 1
        tell("\(error); retrying")
        try abort(after: error)
        return false
    }

    private mutating func abort(after error: KafkaError) throws {
        do {
            try client.producer.abortTransaction(deadline: .seconds(10))
        } catch {
            _ = try renew(after: "\(error)", reaching: nil)
        }
    }

    // MARK: After an unknown outcome

    /// Recreates the producer, which ends whatever its predecessor left open, and finds out what became of that.
    ///
    /// - Returns: whether the group has reached `next`.
    private mutating func renew(after reason: String, reaching next: [TopicPartition: RedrivePosition]?) throws -> Bool
    {
        tell("recreates its producer after: \(reason)")
        try untilItWorks { me throws in
            // A process that has taken over must not be fenced in turn.
            let reader = try RedriveClient.reader(
                me.id, me.context.configuration, "read_uncommitted", me.context.logger)
            let found = try RedriveClient.positions(of: me.sources, reader, me.id)
            guard found.values.allSatisfy({ me.owners.contains($0.owner) }) else { throw RedriveTakenOver(id: me.id) }
            me.client = try RedriveClient(
                id: me.id, to: me.target, me.context.configuration, logger: me.context.logger)
            try me.client.producer.initTransactions(deadline: .seconds(10))
        }
        let owned = try readPositions()
        let found = owned.mapValues(\.position)
        guard owned.values.allSatisfy({ owners.contains($0.owner) }) else { throw RedriveTakenOver(id: id) }
        if found == positions { return false }
        guard let next, found == positions.merging(next, uniquingKeysWith: { $1 }) else {
            throw RedriveTakenOver(id: id)
        }
        return true
    }

    private mutating func readPositions() throws -> [TopicPartition: OwnedPosition] {
        var found: [TopicPartition: OwnedPosition] = [:]
        try untilItWorks { me throws in
            found = try RedriveClient.positions(of: me.sources, me.client.reader, me.id)
        }
        return found
    }

    /// Does what a broker that is away keeps from being done until it works.
    private mutating func untilItWorks(_ body: (inout RedriveProducer) throws -> Void) throws {
        var lastTold: ContinuousClock.Instant?
        while true {
            do {
                return try body(&self)
            } catch let error as KafkaError {
                if error.kind == .fenced { throw RedriveTakenOver(id: id) }
                // A broker that has only just come back may not know its topics yet.
                let isComingBack = error.kind == .unknownTopicOrPartition && !positions.isEmpty
                if !isComingBack, error.needsAPerson || error.recovery == .giveUp { throw error }
                if context.isStopped() { throw ReplayStopped() }
                if lastTold.map({ .now - $0 > .seconds(10) }) ?? true {
                    lastTold = .now
                    tell("\(error); waiting")
                }
                wait(until: .now + .milliseconds(200))
            }
        }
    }
}
