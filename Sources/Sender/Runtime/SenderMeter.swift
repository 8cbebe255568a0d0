import Notifications
import Pipeline
import Synchronization
import Telemetry

/// The counts and measurements of the sender: fed by the lanes, read by the status line and monitoring. Any thread.
public final class SenderMeter: Sendable {
    /// A moment's totals.
    public struct Reading: Sendable, Equatable {
        public var requests = 0
        public var outcomes = 0
        public var accepted = 0
        public var retries = 0
    }

    let metrics: Metrics
    private let totals = Mutex(Reading())
    private let counters = Mutex<[Platform: [Int?: Counter]]>([:])
    private let latency: [Platform: Histogram]

    package init(metrics: Metrics) {
        self.metrics = metrics
        latency = Dictionary(
            uniqueKeysWithValues: Platform.allCases.map { platform in
                (
                    platform,
                    metrics.histogram(
                        "carillon_delivery_request_duration_seconds",
                        help: "From the start of a request to the end of its answer.",
                        labels: ["platform": platform.rawValue], bounds: Histogram.durationBounds)
                )
            })
    }

    public var reading: Reading { totals.withLock { $0 } }

    /// A request has ended.
    ///
    /// - Parameter status: HTTP's; nil without an answer.
    func answered(_ platform: Platform, status: Int?, duration: Duration?) {
        requests(platform, status).add()
        if let duration { latency[platform]?.record(duration) }
        totals.withLock { $0.requests += 1 }
    }

    /// Registering takes longer than counting.
    private func requests(_ platform: Platform, _ status: Int?) -> Counter {
        counters.withLock { counters in
            if let known = counters[platform]?[status] { return known }
            let made = metrics.counter(
                "carillon_delivery_requests_total", help: "Requests to providers that have ended, by HTTP status.",
                labels: ["platform": platform.rawValue, "status": status.map(String.init) ?? "none"])
            counters[platform, default: [:]][status] = made
            return made
        }
    }

    /// A transaction with these outcomes and retries was committed.
    ///
    /// - Parameter topic: the name of a retry topic.
    func committed(_ transaction: LaneTransaction, topic: (LaneStream) -> String) {
        var counts: [DeliveryOutcome: [Platform: Int]] = [:]
        // By their indices: a copy of a record costs more than to count it.
        for index in transaction.outcomes.indices {
            counts[transaction.outcomes[index].outcome, default: [:]][
                transaction.outcomes[index].platform, default: 0] += 1
        }
        for (outcome, platforms) in counts {
            for (platform, count) in platforms {
                metrics.counter(
                    "carillon_delivery_outcomes_total", help: "Dispatch records that have ended, by outcome.",
                    labels: ["platform": platform.rawValue, "outcome": outcome.rawValue]
                ).add(count)
            }
        }
        let accepted = counts[.accepted]?.values.reduce(0, +) ?? 0
        var retries: [LaneStream: Int] = [:]
        for index in transaction.retries.indices { retries[transaction.retries[index].stream, default: 0] += 1 }
        for (stream, count) in retries {
            metrics.counter(
                "carillon_delivery_retries_total", help: "Records written to a retry topic.",
                labels: ["topic": topic(stream)]
            ).add(count)
        }
        totals.withLock { totals in
            totals.outcomes += transaction.outcomes.count
            totals.accepted += accepted
            totals.retries += transaction.retries.count
        }
    }

    /// A record of the dispatch or a retry topic that nobody can send.
    func unreadable(_ topic: String) {
        metrics.counter(
            "carillon_delivery_unreadable_records_total",
            help: "Records that nobody can send, since their headers or key cannot be read; they have no outcome.",
            labels: ["topic": topic]
        ).add()
    }

    func aborted() {
        metrics.counter("carillon_delivery_aborts_total", help: "Transactions of the sender that were aborted.").add()
    }

    func observe(_ control: ControlFollower) {
        metrics.observe("carillon_control_cancelled_requests", help: "Requests that topic.control cancels.") {
            [.init(labels: [], value: .gauge(Double(control.view.cancelled.count)))]
        }
        metrics.observe(
            "carillon_control_withdrawn_addresses", help: "Addresses of which topic.control withdraws older pushes."
        ) {
            [.init(labels: [], value: .gauge(Double(control.view.withdrawn.count)))]
        }
        metrics.observe(
            "carillon_control_ignored_records", help: "Records of topic.control that say nothing to this version."
        ) {
            [.init(labels: [], value: .gauge(Double(control.view.ignored)))]
        }
    }

    func observe(deadDevicesStay: Bool) {
        metrics.observe(
            "carillon_dead_devices_stay",
            help: "1 where nobody takes dead devices out, since topic.commands is not set."
        ) {
            [.init(labels: [], value: .gauge(deadDevicesStay ? 1 : 0))]
        }
    }

    /// The series that are read when they are asked for.
    func observe(_ board: SenderBoard) {
        func gauge(
            _ name: String, _ help: String, _ value: @escaping @Sendable (SenderBoard.Lane) -> Double?
        ) {
            metrics.observe(name, help: help) {
                board.all.compactMap { provider, lane in
                    value(lane).map { .init(labels: [.init("platform", provider.rawValue)], value: .gauge($0)) }
                }
            }
        }
        gauge("carillon_delivery_in_flight", "Requests in flight, by provider.") { Double($0.inFlight) }
        gauge("carillon_delivery_held", "Records that are read and not finished, by provider.") { Double($0.held) }
        gauge(
            "carillon_delivery_head_age_seconds",
            "Age of the oldest dispatch record that is read and not finished, by provider; 0 without one."
        ) { Double($0.headAge.wholeMilliseconds) / 1_000 }
        gauge("carillon_delivery_partitions", "Partitions of the dispatch topic that this process sends, by provider.")
        {
            Double($0.partitions)
        }
        gauge("carillon_delivery_lag", "Offsets of a provider's topics from the first unfinished one on.") {
            $0.lag.map(Double.init)
        }
        gauge("carillon_delivery_paused", "1 while a provider fails, else 0.") { $0.isPaused ? 1 : 0 }
        gauge("carillon_delivery_credentials_paused", "Credentials that the provider does not accept.") {
            Double($0.pausedCredentials.count)
        }
        gauge("carillon_delivery_credentials_unready", "Credentials without a token to send with.") {
            Double($0.unready.count)
        }
        metrics.observe(
            "carillon_delivery_held_back",
            help: "1 for a provider, or one of its credentials, that an operator has paused."
        ) {
            board.all.flatMap { provider, lane in
                lane.holds.map { name in
                    .init(
                        labels: [.init("platform", provider.rawValue), .init("credential", name)], value: .gauge(1))
                }
            }
        }
        metrics.observe(
            "carillon_delivery_stopped", help: "1 for a provider to which nothing is sent until a person mends it."
        ) {
            board.stopped.keys.map { .init(labels: [.init("platform", $0.rawValue)], value: .gauge(1)) }
        }
        metrics.observe(
            "carillon_delivery_token_age_seconds",
            help: "How long the access or provider token of a credential has been used."
        ) {
            board.all.flatMap { provider, lane in
                lane.tokenAges.sorted { $0.key < $1.key }.map { credential, age in
                    .init(
                        labels: [.init("platform", provider.rawValue), .init("credential", credential)],
                        value: .gauge(Double(age.wholeMilliseconds) / 1_000))
                }
            }
        }
        metrics.observe(
            "carillon_delivery_possibly_twice_total",
            help: "Requests that may have been the second one of their push: a loose upper bound."
        ) {
            board.all.map { provider, lane in
                .init(labels: [.init("platform", provider.rawValue)], value: .counter(Double(lane.possiblyTwice)))
            }
        }
    }
}
