import HTTPServer
import Pipeline
import Telemetry

/// The pages that a pipeline offers to monitoring: `/metrics`, `/live` and `/ready`.
///
/// It serves from its creation until ``stop()``, also before and after the pipeline's `run()`.
package final class ConsoleServer {
    private let server: HTTPServer

    /// - Parameters:
    ///   - metrics: the registry that the pipeline records into; the metrics of the process are added to it.
    ///   - build: labels of `carillon_build_info`.
    /// - Throws: `HTTPServerError` if it cannot listen on the address.
    package init(
        at address: ListenAddress, pipeline: NotificationPipeline, metrics: Metrics, build: Metrics.Labels
    ) throws(HTTPServerError) {
        let pages = Pages(pipeline: pipeline, metrics: metrics, build: build)
        server = try HTTPServer(host: address.host, port: address.port) { pages[$0] }
    }

    /// Closes the port. Further calls do nothing.
    package func stop() {
        server.stop()
    }
}

/// Creates each page when it is requested.
struct Pages: Sendable {
    private let pipeline: NotificationPipeline
    private let metrics: Metrics

    init(pipeline: NotificationPipeline, metrics: Metrics, build: Metrics.Labels) {
        self.pipeline = pipeline
        self.metrics = metrics
        ProcessMetrics.register(in: metrics)
        metrics.gauge("carillon_build_info", help: "Always 1; the labels say what runs.", labels: build).set(1)
    }

    subscript(path: String) -> HTTPResponse? {
        switch path {
        case "/metrics": metricsPage()
        case "/live": Self.livePage(pipeline.liveness)
        case "/ready": Self.readyPage(pipeline.readiness)
        default: nil
        }
    }

    private func metricsPage() -> HTTPResponse {
        HTTPResponse(
            contentType: "text/plain; version=0.0.4; charset=utf-8", body: metrics.snapshot().prometheusText())
    }

    /// Does not cover a worker that hangs in a transaction: it ends the process by itself.
    static func livePage(_ liveness: Liveness) -> HTTPResponse {
        guard !liveness.isAlive else { return HTTPResponse(body: "live\n") }
        let lines =
            ["not live"]
            + liveness.stuck.map {
                "- \($0): nothing arrives although there is something to read, and a new client did not help"
            }
        return HTTPResponse(.serviceUnavailable, body: lines.joined(separator: "\n") + "\n")
    }

    static func readyPage(_ readiness: Readiness) -> HTTPResponse {
        guard !readiness.isReady else { return HTTPResponse(body: "ready\n") }
        let lines = ["not ready"] + readiness.reasons.map { "- \($0)" }
        return HTTPResponse(.serviceUnavailable, body: lines.joined(separator: "\n") + "\n")
    }
}
