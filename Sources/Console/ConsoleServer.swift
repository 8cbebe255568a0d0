import HTTPServer
import Pipeline

/// The pages that a process offers to monitoring: `/metrics`, `/live` and `/ready`.
///
/// It serves from its creation until ``stop()``, also before the roles start and while they drain.
package final class ConsoleServer {
    private let server: HTTPServer

    /// - Parameters:
    ///   - metrics: the registry that the roles record into; the metrics of the process are added to it.
    ///   - build: labels of `carillon_build_info`.
    ///   - stuck: who cannot recover without a restart.
    ///   - unready: why the process does not do its work now; empty if it does.
    /// - Throws: `HTTPServerError` if it cannot listen on the address.
    package init(
        at address: ListenAddress, metrics: Metrics, build: Metrics.Labels,
        stuck: @escaping @Sendable () -> [String], unready: @escaping @Sendable () -> [String]
    ) throws(HTTPServerError) {
        let pages = Pages(metrics: metrics, build: build, stuck: stuck, unready: unready)
        server = try HTTPServer(host: address.host, port: address.port) { pages[$0] }
    }

    /// The port it listens on: the system's choice if 0 was requested.
    package var port: UInt16 { server.port }

    /// Closes the port. Further calls do nothing.
    package func stop() {
        server.stop()
    }
}

/// Creates each page when it is requested.
struct Pages: Sendable {
    private let metrics: Metrics
    private let stuck: @Sendable () -> [String]
    private let unready: @Sendable () -> [String]

    init(
        metrics: Metrics, build: Metrics.Labels, stuck: @escaping @Sendable () -> [String],
        unready: @escaping @Sendable () -> [String]
    ) {
        self.metrics = metrics
        self.stuck = stuck
        self.unready = unready
        ProcessMetrics.register(in: metrics)
        metrics.gauge("carillon_build_info", help: "Always 1; the labels say what runs.", labels: build).set(1)
    }

    subscript(path: String) -> HTTPResponse? {
        switch path {
        case "/metrics": metricsPage()
        case "/live": Self.livePage(stuck())
        case "/ready": Self.readyPage(unready())
        default: nil
        }
    }

    private func metricsPage() -> HTTPResponse {
        HTTPResponse(
            contentType: "text/plain; version=0.0.4; charset=utf-8", body: metrics.snapshot().prometheusText())
    }

    /// Does not cover a worker that hangs in a transaction: it ends the process by itself.
    static func livePage(_ stuck: [String]) -> HTTPResponse {
        guard !stuck.isEmpty else { return HTTPResponse(body: "live\n") }
        let lines =
            ["not live"]
            + stuck.map {
                "- \($0): nothing arrives although there is something to read, and a new client did not help"
            }
        return HTTPResponse(.serviceUnavailable, body: lines.joined(separator: "\n") + "\n")
    }

    static func readyPage(_ reasons: [String]) -> HTTPResponse {
        guard !reasons.isEmpty else { return HTTPResponse(body: "ready\n") }
        let lines = ["not ready"] + reasons.map { "- \($0)" }
        return HTTPResponse(.serviceUnavailable, body: lines.joined(separator: "\n") + "\n")
    }
}
