import Dispatch
import Foundation
import Pipeline

/// A backend that runs the pipeline inside: with its own tokens, its own audiences, its own log and its own metrics.
///
///     KAFKA_BOOTSTRAP_SERVERS=localhost:9092 CARILLON_FROM=latest swift run embedded-service
///
/// Needs the topics of `carillon topics create`; of these it does not read notifications.subscriptions.
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

        // SIGTERM drains and commits; `run()` then returns. `@Sendable`, because the handler runs on a queue of its own and
        // a closure written here would else belong to the main actor, and trap.
        signal(SIGTERM, SIG_IGN)
        let terminated = DispatchSource.makeSignalSource(signal: SIGTERM)
        terminated.setEventHandler { @Sendable in pipeline.shutdown() }
        terminated.resume()

        let running = Task { try await pipeline.run() }
        // Here the host does what it does besides.
        do {
            try await running.value
        } catch let error as PipelineError {
            HostLog.line("the pipeline ended: \(error)")
            exit(1)
        }
        print(metrics.snapshot().prometheusText(), terminator: "")
    }

    /// From the environment, as the daemon reads it: `KAFKA_…` and `CARILLON_…`. Setting the fields by hand does as well.
    private static func configuration() throws -> PipelineConfiguration {
        var loader = ConfigurationLoader()
        loader.environment = ProcessInfo.processInfo.environment
        return try loader.load().checked()
    }
}
