import Dispatch
import Foundation
import Pipeline

/// A backend that embeds the pipeline, with its own tokens, audiences, log and metrics.
///
///     KAFKA_BOOTSTRAP_SERVERS=localhost:9092 CARILLON_FROM=latest swift run embedded-service
///
/// Needs the topics that `carillon topics create` creates; it does not read notifications.subscriptions.
@main
enum Service {
    static func main() async throws {
        let devices = DeviceDirectory()
        devices.register(token: "made-up-token-of-a-counter", app: "com.example.shop", for: "place/42")
        devices.register(token: "made-up-token-of-a-manager", app: "com.example.desk", for: "channel/new-orders")

        let metrics = Metrics()
        let pipeline = NotificationPipeline(
            configuration: try configuration(), resolver: devices, audienceRule: PlaceAndNewOrders(),
            logger: Logger(label: "pipeline", sink: HostLog()), metrics: metrics)

        // SIGTERM drains and commits; `run()` then returns. The handler runs on its own queue: without `@Sendable` the
        // closure would be isolated to the main actor, and trap.
        signal(SIGTERM, SIG_IGN)
        let terminated = DispatchSource.makeSignalSource(signal: SIGTERM)
        terminated.setEventHandler { @Sendable in pipeline.shutdown() }
        terminated.resume()

        let running = Task { try await pipeline.run() }
        // The host's own work goes here.
        do {
            try await running.value
        } catch let error as PipelineError {
            HostLog.line("the pipeline ended: \(error)")
            exit(1)
        }
        print(metrics.snapshot().prometheusText(), terminator: "")
    }

    /// Reads the environment as the daemon does: `KAFKA_…` and `CARILLON_…`. You can also set the fields by hand.
    private static func configuration() throws -> PipelineConfiguration {
        var loader = ConfigurationLoader()
        loader.environment = ProcessInfo.processInfo.environment
        return try loader.load().checked()
    }
}
