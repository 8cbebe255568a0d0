import Foundation
import Hosting
import JSONReader
import KafkaClient
import Notifications
import Pipeline
import Synchronization

/// What others write into `notifications.subscriptions` while the registrar works, and what it has written itself: read by a
/// thread, taken by the tenant between two transactions. Any thread.
final class SubscriptionFeed: Sendable {
    private struct State {
        /// Where it is to be read from; nil: nobody wants it.
        var starts: [TopicPartition: Offset]?
        /// Raised with each new start.
        var generation = 0
        var changes: [LoggedSubscription] = []
        /// Everything below was read, and its changes are here or were taken.
        var reached: [TopicPartition: Int64] = [:]
        var freshSince: ContinuousClock.Instant?
        /// Whether the logs are others than at the start.
        var isOther = false
    }

    /// So many changes may wait to be taken; nothing is read meanwhile.
    private static let most = 20_000

    private let state = Mutex(State())

    /// Reads from these offsets on.
    func start(at starts: [TopicPartition: Offset]) {
        state.withLock { state in
            let generation = state.generation + 1
            state = State(starts: starts, generation: generation, reached: starts.mapValues(\.value))
        }
    }

    func stop() {
        state.withLock { $0 = State(generation: $0.generation + 1) }
    }

    /// Whether the topic has other partitions, or ends before what was read of it.
    var isOther: Bool { state.withLock { $0.isOther } }

    /// Whether everything was read that was there at this time.
    func hasEverything(since time: ContinuousClock.Instant) -> Bool {
        state.withLock { $0.freshSince.map { $0 >= time } ?? false }
    }

    /// What has arrived.
    struct Taken {
        var changes: [LoggedSubscription]
        /// How far the partitions were read.
        var reached: [TopicPartition: Int64]
        /// Everything that was there by then has been taken with it; nil: not yet.
        var freshSince: ContinuousClock.Instant?
    }

    /// Takes what has arrived; nil: nobody wants it.
    func take() -> Taken? {
        state.withLock { state in
            guard state.starts != nil || !state.changes.isEmpty else { return nil }
            defer { state.changes.removeAll() }
            return Taken(changes: state.changes, reached: state.reached, freshSince: state.freshSince)
        }
    }

    /// Reads, as long as somebody wants it, until the host drains or stops.
    ///
    /// - Throws: ``PipelineError`` where a person has to act.
    func run(on host: RoleHost, _ configuration: PipelineConfiguration, logger: Logger, metrics: Metrics) throws {
        let topic = configuration.topics.subscriptions
        let patience = Patience()
        do {
            while !host.mustEnd {
                let (starts, generation) = state.withLock { ($0.isOther ? nil : $0.starts, $0.generation) }
                guard let starts else {
                    Thread.sleep(forTimeInterval: 0.05)
                    continue
                }
                let terms = LogReading.Terms(
                    topics: [topic], from: .offsets(starts), interval: .seconds(1), readsHeaders: false)
                var reading = try host.untilItWorks(logger, patience) { () throws(KafkaError) in
                    try LogReading(terms, configuration.kafka, host, patience, logger: logger, metrics: metrics)
                }
                var isSame = true
                while isSame, !host.mustEnd, isWanted(generation) {
                    isSame = try reading.round { note($0, of: generation, partitions: starts.count) }
                    let freshSince = reading.freshSince
                    state.withLock { state in
                        guard state.generation == generation else { return }
                        state.freshSince = freshSince
                        state.isOther = !isSame
                    }
                    while isFull(generation), !host.mustEnd { Thread.sleep(forTimeInterval: 0.01) }
                }
            }
        } catch is PipelineEnded {}
    }

    private func isWanted(_ generation: Int) -> Bool { state.withLock { $0.generation == generation } }

    private func isFull(_ generation: Int) -> Bool {
        state.withLock { $0.generation == generation && $0.changes.count >= Self.most }
    }

    private func note(_ batch: borrowing RecordBatch, of generation: Int, partitions: Int) {
        var changes: [LoggedSubscription] = []
        var reached: [TopicPartition: Int64] = [:]
        var json = JSONReader()
        for index in 0..<batch.count {
            if let change = LoggedSubscription(batch, at: index, partitions: partitions, &json) {
                changes.append(change)
            }
            let record = batch[index]
            reached[TopicPartition(topic: record.topic, partition: record.partition)] = record.offset + 1
        }
        for end in batch.endsOfPartition { reached[end.partition] = end.offset.value }
        state.withLock { state in
            guard state.generation == generation else { return }
            state.changes += changes
            state.reached.merge(reached) { max($0, $1) }
        }
    }
}

extension LoggedSubscription {
    /// Nil if the record changes nothing: its key is that of no subscription, or belongs into another partition. What its
    /// value is like does not matter: also one that is no subscription may have an address in it.
    init?(_ batch: borrowing RecordBatch, at index: Int, partitions: Int, _ json: inout JSONReader) {
        let record = SubscriptionRecord(of: batch, at: index, partitions: partitions)
        switch record.partitioning {
        case .right: break
        case .misplaced, .ended: return nil
        }
        guard let key = record.key.flatMap({ SubscriptionKey(Array($0)) }) else { return nil }
        let view = batch[index]
        let value = record.value.map { Array($0) }
        (self.key, offset, time) = (key, view.offset, view.timestamp)
        partition = view.partition
        entry = value.map { SubscriptionEntry(key, $0, written: view.timestamp, &json) }
        command = batch.header(SubscriptionRecord.commandHeader, at: index)
            .flatMap { Int64(String(decoding: $0, as: UTF8.self)) }
        if command != nil {
            mark = batch.header(BurialMark.header, at: index)
                .flatMap { BurialMark(String(decoding: $0, as: UTF8.self)) }
        } else if let value, entry?.facts != nil, value.count <= Self.largest {
            self.value = value
            since = batch.header(SubscriptionRecord.sinceHeader, at: index).map { Array($0) }
        }
    }
}
