import Foundation
import KafkaClient
import Synchronization

/// What a topic of one partition says at a moment.
package protocol FollowedView: Sendable {
    /// Of a topic of which nothing is known.
    init()
    /// When the newest end of the topic that the view has reached was asked for; nil before the first one.
    var freshSince: ContinuousClock.Instant? { get set }
}

extension FollowedView {
    /// Whether the view has reached an end that was asked for at most so long before `now`.
    package func isFresh(within age: Duration, now: ContinuousClock.Instant = .now) -> Bool {
        freshSince.map { now - $0 <= age } ?? false
    }
}

/// Folds the records of a topic of one partition into a view. No I/O and no clock.
package protocol FollowedFold: ~Copyable {
    associatedtype View: FollowedView

    init()
    var view: View { get }
    /// What was read next, with the ends that were reached.
    mutating func take(_ records: borrowing RecordBatch)
}

package typealias BroadcastFollower = TopicFollower<BroadcastFold>
package typealias ControlFollower = TopicFollower<ControlFold>

/// Follows a topic of one partition from its beginning: what it says now, and how old that knowledge is.
///
/// Each role that needs it runs it, and one of them reads: where that role ends, another one's thread reads on. Any thread
/// reads ``view``.
package final class TopicFollower<Fold: FollowedFold & ~Copyable>: Sendable {
    private let topic: String
    /// Why the topic has one partition.
    private let reason: String
    private let readsHeaders: Bool
    private let settings: Settings
    private let logger: Logger
    private let metrics: Metrics
    private let published = Mutex(Fold.View())
    /// Whoever holds it reads.
    private let turn = DispatchSemaphore(value: 1)

    private init(
        _ topic: String, _ reason: String, readsHeaders: Bool, _ settings: Settings, logger: Logger, metrics: Metrics
    ) {
        (self.topic, self.reason, self.readsHeaders) = (topic, reason, readsHeaders)
        (self.settings, self.logger, self.metrics) = (settings, logger, metrics)
    }

    /// The newest view. It says nothing yet while `freshSince` is nil.
    package var view: Fold.View { published.withLock { $0 } }

    package func publish(_ view: Fold.View) { published.withLock { $0 = view } }

    /// Follows the topic on the caller's thread, as long as no other does, until its host drains or stops. It waits for the
    /// broker without limit, with a log line every 10 s; the view grows old meanwhile.
    ///
    /// - Throws: ``PipelineError``: another number of partitions than one, or what a person has to fix where the topic's
    ///   end has never been reached.
    package func run(on host: RoleHost) throws {
        while turn.wait(timeout: .now() + 0.2) == .timedOut {
            if host.mustEnd { return }
        }
        defer { turn.signal() }
        let patience = Patience()
        do {
            while !host.mustEnd {
                var reading = try host.untilItWorks(logger, patience) { () throws(KafkaError) in
                    try LogReading(terms, settings, host, patience, logger: logger, metrics: metrics)
                }
                let count = reading.partitions.count
                guard count == 1 else {
                    throw PipelineError.decisionNeeded(
                        "\(topic) has \(count) partitions and must have one: \(reason); create it again with one")
                }
                var fold = Fold()
                var isSame = true
                while isSame, !host.mustEnd {
                    isSame = try reading.round { fold.take($0) }
                    var view = isSame ? fold.view : Fold.View()
                    if isSame { view.freshSince = reading.freshSince }
                    publish(view)
                }
            }
        } catch is PipelineEnded {}
    }

    /// A view is at most one second old where something is sent by it.
    private var terms: LogReading.Terms {
        LogReading.Terms(topics: [topic], interval: .milliseconds(400), readsHeaders: readsHeaders)
    }
}

extension TopicFollower where Fold == BroadcastFold {
    /// - Parameter configuration: with `topic.broadcasts`.
    package convenience init(_ configuration: PipelineConfiguration, logger: Logger, metrics: Metrics) {
        self.init(
            configuration.topics.broadcasts, "broadcasts are sent in their order", readsHeaders: true,
            configuration.kafka, logger: logger, metrics: metrics)
    }
}

extension TopicFollower where Fold == ControlFold {
    /// - Parameter configuration: with `topic.control`.
    package convenience init(_ configuration: PipelineConfiguration, logger: Logger, metrics: Metrics) {
        self.init(
            configuration.topics.control, "its records are taken in their order", readsHeaders: false,
            configuration.kafka, logger: logger, metrics: metrics)
    }
}
