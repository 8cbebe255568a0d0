import KafkaClient
import Notifications
import Pipeline
import Synchronization
import Telemetry

/// The settings of topics, as the broker said them some minutes ago at most. Any thread.
package final class TopicSettings: Sendable {
    /// By topic; one that is not there could not be asked about.
    package typealias Known = [String: [String: String]]

    private static let age = Duration.seconds(300)
    /// For all topics together.
    private static let timeout = Duration.seconds(5)

    private let topics: [String]
    private let ask: @Sendable ([String]) -> Known
    private let state = Mutex<(known: Known, since: ContinuousClock.Instant)?>(nil)

    /// - Parameter ask: waits for a broker.
    package init(of topics: [String], _ ask: @escaping @Sendable ([String]) -> Known) {
        (self.topics, self.ask) = (topics, ask)
    }

    /// Asks the broker of these settings, about each topic by itself: one may not be described.
    package convenience init(of topics: [String], _ kafka: Settings, logger: Logger) {
        self.init(of: topics) { topics in
            var known: Known = [:]
            do throws(KafkaError) {
                let admin = try Admin(settings: kafka, logger: logger.clientSink)
                let deadline = ContinuousClock.now + Self.timeout
                for topic in topics {
                    do throws(KafkaError) {
                        let left = max(deadline - .now, .milliseconds(1))
                        known[topic] = try admin.describe(topics: [topic], timeout: left).first?.configuration
                    } catch {
                        logger.notice("the settings of \(topic) are not known: \(error)")
                    }
                }
            } catch {
                logger.notice("the settings of topics are not known: \(error)")
            }
            return known
        }
    }

    /// What is known without asking; nil: it is too old.
    package func known(at now: ContinuousClock.Instant = .now) -> Known? {
        state.withLock { state in state.flatMap { now - $0.since < Self.age ? $0.known : nil } }
    }

    /// Asks, and waits for the broker. What could not be asked about is asked about again the next time.
    package func renew() -> Known {
        let known = ask(topics)
        if known.count == topics.count { state.withLock { $0 = (known, .now) } }
        return known
    }
}
