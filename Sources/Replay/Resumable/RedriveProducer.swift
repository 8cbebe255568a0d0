import DispatchRecords
import Foundation
import KafkaClient
import Pipeline

/// Writes records to a live topic exactly once, over crashes, lost answers and second starts: each transaction carries records
/// and the position behind them, and the position of the last one that was committed is where the next process goes on.
///
/// Both names are `carillon-replay-<id>`: the `transactional.id`, whose next producer shuts this one out, and the group
/// that the positions are committed under, which nobody joins. One owner, one thread.
package struct RedriveProducer: ~Copyable {
    /// What it tells a person who waits, a line each time.
    package typealias Tell = (String) -> Void

    /// The header with the id, on every record that it writes, whatever the topic.
    static let header = DispatchHeader.replay.text

    package let id: String
    private let context: ReplayContext
    private let source: String
    private let target: String
    let tell: Tell
    private let owner: String
    /// Who may have committed what is there: this process, and whom it took over from.
    private var owners: Set<String>
    private var client: RedriveClient
    private var positions: [Int32: RedrivePosition] = [:]
    private var began = ContinuousClock.now
    /// Transactions that were aborted one after the other. An abort does not always heal the client's sequence of records;
    /// a new client does.
    private var aborts = 0
    private static let mostAborts = 3

    /// - Parameters:
    ///   - id: see ``RedriveID``.
    ///   - source: the topic whose positions it commits.
    ///   - target: the topic that it writes to, partitions as the pipeline chooses them.
    package init(
        id: String, from source: String, to target: String, _ context: ReplayContext, tell: @escaping Tell
    ) throws {
        let client = try RedriveClient(id: id, to: target, context.configuration, logger: context.logger)
        let owner = String(UUID().uuidString.prefix(13))
        self.id = id
        self.context = context
        self.source = source
        self.target = target
        self.tell = tell
        self.owner = owner
        owners = [owner]
        self.client = client
    }

    /// Shuts out a process with the same id, ends what it had open, and takes its place. Before anything else.
    ///
    /// - Returns: by partition, where it stands; empty: nothing was ever sent under this id, or the broker has forgotten it.
    package mutating func takeOver() throws -> [Int32: RedrivePosition] {
        try untilItWorks { me throws in try me.client.producer.initTransactions(deadline: .seconds(2)) }
        let found = try readPositions()
        owners.formUnion(found.values.map(\.owner))
        positions = found.mapValues(\.position)
        // So that the one before knows whom it lost them to.
        if !positions.isEmpty { try send([], reaching: positions) }
        return positions
    }

    /// Writes records and moves to these positions, both or neither, whatever happens on the way; tries until it is done.
    ///
    /// Each record gets ``header`` behind its own.
    /// - Parameter next: by partition; what is not in it stays.
    /// - Throws: ``RecordRefused``, ``RedriveTakenOver``, ``ReplayStopped``, and what waiting does not mend. The last
    ///   transaction may then have been committed all the same: only ``takeOver()`` tells.
    package mutating func send(_ records: [ProducerRecord], reaching next: [Int32: RedrivePosition]) throws {
        while try !sendOnce(records, reaching: next) {}
    }

    /// The same with one transaction, for a caller that looks again before the next one.
    ///
    /// - Returns: false where nothing was written and the positions are as they were.
    mutating func sendOnce(_ records: [ProducerRecord], reaching next: [Int32: RedrivePosition]) throws -> Bool {
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

    /// Waits between two transactions, serving what comes meanwhile; ends early when it is stopped.
    package mutating func wait(until time: ContinuousClock.Instant) {
        while .now < time, !context.isStopped() {
            client.producer.poll(timeout: min(.milliseconds(100), time - .now))
        }
    }

    /// Whether it was stopped from outside.
    package var mustStop: Bool { context.isStopped() }

    // MARK: One transaction

    private mutating func attempt(_ records: [ProducerRecord], _ next: [Int32: RedrivePosition]) throws {
        if client.producer.hasRepeatedRequests {
            _ = try renew(after: "a request was sent twice, its first copy may still be on its way", reaching: nil)
        }
        let mark = RecordHeader(Self.header, Array(id.utf8))
        var offsets: [TopicPartition: CommittedOffset] = [:]
        for (partition, position) in next {
            offsets[TopicPartition(topic: source, partition: partition)] = try OwnedPosition(position, owner: owner)
                .committed()
        }
        began = .now
        try client.producer.beginTransaction()
        for record in records {
            var record = record
            record.headers.append(mark)
            try client.producer.produce(record, to: client.topic)
        }
        try client.producer.sendOffsets(
            offsets, try client.reader.groupMetadata(), deadline: context.configuration.transactionTimeout)
        try commit()
    }

    /// In slices, so that a person hears of a broker that is away.
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

    /// Ends a transaction that went wrong.
    ///
    /// - Returns: whether it was committed all the same.
    private mutating func settle(_ error: KafkaError, _ next: [Int32: RedrivePosition]) throws -> Bool {
        client.producer.poll(timeout: .zero)
        let failures = client.producer.takeFailures().map(\.error) + [error]
        if let refusal = failures.first(where: { $0.kind.isOfRecord }) {
            try abort(after: refusal)
            throw RecordRefused(error: refusal)
        }
        // A transaction that the broker ended for its age looks the same as a successor.
        if error.kind == .fenced, .now - began < context.configuration.transactionTimeout {
            throw RedriveTakenOver(id: id)
        }
        if error.needsAPerson { throw error }
        guard error.recovery == .abortTransaction, aborts < Self.mostAborts else {
            aborts = 0
            return try renew(after: "\(error)", reaching: next)
        }
        aborts += 1
        tell("\(error); tried again")
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

    // MARK: After an outcome that is not known

    /// Makes the producer anew, which ends whatever its predecessor left open, and finds out what became of that.
    ///
    /// - Returns: whether the group has come to `next`.
    private mutating func renew(after reason: String, reaching next: [Int32: RedrivePosition]?) throws -> Bool {
        tell("recreates its producer after: \(reason)")
        try untilItWorks { me throws in
            // Who has taken it over is not to be shut out in turn.
            let reader = try RedriveClient.reader(
                me.id, me.context.configuration, "read_uncommitted", me.context.logger)
            let found = try RedriveClient.positions(of: me.source, reader, me.id)
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

    private mutating func readPositions() throws -> [Int32: OwnedPosition] {
        var found: [Int32: OwnedPosition] = [:]
        try untilItWorks { me throws in
            found = try RedriveClient.positions(of: me.source, me.client.reader, me.id)
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

extension KafkaError {
    /// Waiting does not mend it.
    var needsAPerson: Bool { kind.remedy != nil }
}
