import Console
import KafkaClient
import Pipeline
import Telemetry

extension ConsoleServer {
    /// The pages of a daemon, where it has an address for them: served before it works and until it has ended, so that it
    /// can also be observed while it waits or drains.
    ///
    /// - Parameter make: takes the address and the labels of `carillon_build_info`.
    static func serve(
        at address: ListenAddress?, _ logger: Logger,
        _ make: (ListenAddress, Metrics.Labels) throws -> ConsoleServer
    ) throws -> ConsoleServer? {
        guard let address else { return nil }
        let console = try make(address, ["version": Version.number, "librdkafka": LibraryVersions.librdkafka])
        logger.info("serves http://\(address)/metrics, /live and /ready")
        return console
    }
}
