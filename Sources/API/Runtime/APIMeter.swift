import HTTPServer
import Hosting
import Synchronization
import Telemetry

/// The counts of the HTTP API. Any thread.
package final class APIMeter: Sendable {
    /// A moment's totals.
    package struct Reading: Equatable, Sendable {
        package var answers = 0
        /// Of these, with a status from 500 on.
        package var failures = 0
    }

    /// The metrics of an operation and a status, which are made once.
    private struct Key: Hashable {
        var operation: String
        var status: UInt32
    }

    private let metrics: Metrics
    private let state = Mutex<(total: Reading, counters: [Key: Counter])>((Reading(), [:]))
    private let times: [String: Histogram]
    private let logger: Logger
    /// Where a request was not routed.
    private static let none = "none"

    init(_ operations: [APIOperation], metrics: Metrics, logger: Logger) {
        self.metrics = metrics
        self.logger = logger
        times = Dictionary(
            (operations.map(\.name) + [Self.none]).map { name in
                (
                    name,
                    metrics.histogram(
                        "carillon_api_request_seconds", help: "Time from a request's head to its answer, by operation.",
                        labels: ["operation": name], bounds: Histogram.durationBounds)
                )
            }
        ) { first, _ in first }
    }

    package var reading: Reading { state.withLock { $0.total } }

    /// A request has its answer. The log has neither its key nor what is in its path and body.
    func answered(_ call: Call, _ status: HTTPResponse.Status, _ time: Duration) {
        let operation = call.operation?.name ?? Self.none
        let key = Key(operation: operation, status: status.rawValue)
        let counter = state.withLock { state in
            state.total.answers += 1
            if status.rawValue >= 500 { state.total.failures += 1 }
            if let counter = state.counters[key] { return counter }
            let counter = metrics.counter(
                "carillon_api_requests_total", help: "Requests that were answered, by operation and status.",
                labels: ["operation": operation, "status": "\(status.rawValue)"])
            state.counters[key] = counter
            return counter
        }
        counter.add(1)
        times[operation]?.record(time / .seconds(1))
        logger.info(
            "\(call.operation.map { "\($0.method.rawValue) \($0.path.text)" } ?? "not routed") \(status.rawValue)",
            [
                "request": call.id, "key": call.key?.id ?? "", "client": call.client,
                "milliseconds": "\(Int64((time / .milliseconds(1)).rounded()))",
            ])
    }
}

/// The line of status, where something was answered since the last one, and the totals at the end.
struct APIStatusLine: StatusLine {
    let meter: APIMeter

    var reading: APIMeter.Reading { meter.reading }

    func line(from last: APIMeter.Reading, to now: APIMeter.Reading, in time: Duration) -> String? {
        guard now != last else { return nil }
        return "\(Int(Double(now.answers - last.answers) / (time / .seconds(1)))) requests/s; "
            + "\(now.failures - last.failures) answered with 5xx"
    }

    func total(_ now: APIMeter.Reading, in time: Duration) -> String {
        "ended: \(now.answers) requests answered, \(now.failures) with 5xx"
    }
}
