import Foundation
import Hosting
import KafkaClient
import Pipeline
import Synchronization

/// Where the partitions of the subscriptions end, asked for again and again while somebody wants to know: whether a worker has read what there was a
/// moment ago. One thread runs it; any thread asks.
final class SubscriptionEnds: Sendable {
    private struct Answer {
        var askedAt: ContinuousClock.Instant
        /// By partition.
        var ends: [Int32: Int64]
    }

    /// A partition that is written to all the time reaches an older answer before the newest.
    private static let kept = 8
    private static let interval = 0.2
    /// The topic never gets more partitions by itself.
    private static let countInterval = Duration.seconds(10)

    private let answers = Mutex<[Answer]>([])
    /// Whether somebody wants to know since the last answer; the first who does wakes the thread.
    private let isWanted = Atomic<Bool>(false)
    private let wanted = DispatchSemaphore(value: 0)

    /// Whether everything was read below an end that was asked for at most so long ago.
    func isReached(
        _ partition: Int32, at position: Int64, within age: Duration, now: ContinuousClock.Instant = .now
    ) -> Bool {
        if !isWanted.exchange(true, ordering: .relaxed) { wanted.signal() }
        return answers.withLock { answers in
            answers.contains { now - $0.askedAt <= age && $0.ends[partition].map { $0 <= position } ?? false }
        }
    }

    /// Adds an answer.
    func answered(_ ends: [Int32: Int64], askedAt: ContinuousClock.Instant) {
        answers.withLock { $0 = $0.suffix(Self.kept - 1) + [Answer(askedAt: askedAt, ends: ends)] }
    }

    /// Asks, as often as somebody wants to know, until the host drains or stops. While the broker does not answer, what is known grows old.
    ///
    /// - Throws: ``PipelineError``: another number of partitions.
    func run(
        on host: RoleHost, _ configuration: PipelineConfiguration, partitions: Int32, logger: Logger
    ) throws {
        let topic = configuration.topics.subscriptions
        let all = (0..<partitions).map { TopicPartition(topic: topic, partition: $0) }
        let patience = Patience()
        let consumer = try Consumer(assigning: configuration.kafka, logger: logger.clientSink)
        var counted = ContinuousClock.now
        while !host.mustEnd {
            guard wanted.wait(timeout: .now() + Self.interval) == .success else { continue }
            isWanted.store(false, ordering: .relaxed)
            let askedAt = ContinuousClock.now
            do {
                if askedAt - counted >= Self.countInterval {
                    let count = Int32(try consumer.partitionCount(of: topic, timeout: .seconds(2)))
                    guard count == partitions else {
                        throw PipelineError.movedKeys(in: topic, from: partitions, to: count)
                    }
                    counted = askedAt
                }
                let ends = try consumer.endOffsets(all, timeout: .seconds(2))
                answered(
                    Dictionary(uniqueKeysWithValues: ends.map { ($0.key.partition, $0.value.value) }), askedAt: askedAt)
                patience.hasWorked()
            } catch let error as KafkaError {
                if let line = try host.consider(error, patience) { logger.warning("\(topic): \(line); waiting") }
            }
            Thread.sleep(forTimeInterval: Self.interval)
        }
    }
}
