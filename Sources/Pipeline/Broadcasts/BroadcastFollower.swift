import Foundation
import KafkaClient
import Synchronization

/// Follows `topic.broadcasts` from its beginning: which broadcasts there are now, and how old that knowledge is.
///
/// Each role that needs it runs it, and one of them reads: where that role ends, another one's thread reads on. Any thread
/// reads ``view``.
package final class BroadcastFollower: Sendable {
    private let configuration: PipelineConfiguration
    private let logger: Logger
    private let metrics: Metrics
    private let published = Mutex(BroadcastView())
    /// Whoever holds it reads.
    private let turn = DispatchSemaphore(value: 1)

    /// - Parameter configuration: with `topic.broadcasts`.
    package init(_ configuration: PipelineConfiguration, logger: Logger, metrics: Metrics) {
        self.configuration = configuration
        self.logger = logger
        self.metrics = metrics
    }

    /// The newest view. It says nothing yet while `freshSince` is nil.
    package var view: BroadcastView { published.withLock { $0 } }

    package func publish(_ view: BroadcastView) { published.withLock { $0 = view } }

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
                    try LogReading(
                        terms, configuration.kafka, host, patience, logger: logger, metrics: metrics)
                }
                let count = reading.partitions.count
                guard count == 1 else {
                    throw PipelineError.decisionNeeded(
                        "\(terms.topic) has \(count) partitions and must have one: broadcasts are sent in their "
                            + "order; create it again with one")
                }
                var fold = BroadcastFold()
                var isSame = true
                while isSame, !host.mustEnd {
                    isSame = try reading.round { fold.take($0) }
                    var view = isSame ? fold.view : BroadcastView()
                    if isSame { view.freshSince = reading.freshSince }
                    publish(view)
                }
            }
        } catch is PipelineEnded {}
    }

    /// A view is at most one second old where broadcasts are sent from it.
    private var terms: LogReading.Terms {
        LogReading.Terms(topic: configuration.topics.broadcasts, interval: .milliseconds(400), readsHeaders: true)
    }
}
