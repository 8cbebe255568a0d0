import Console
import Foundation
import KafkaClient
import Pipeline

/// What the commands that run until a signal have around their service.
enum Daemon {
    /// Runs the service with its pages, where it has an address for them, and with its signals.
    ///
    /// - Parameters:
    ///   - address: of the pages. They are served before the service works and until it has ended, so that it can also be
    ///     observed while it waits or drains.
    ///   - makeConsole: takes the address and the labels of `carillon_build_info`.
    ///   - shutdown: the first signal; it lets the service drain.
    ///   - cutOff: the log's line where a second signal ends the process at once.
    ///   - service: what runs until it has drained.
    static func run(
        pagesAt address: ListenAddress?, _ logger: Logger,
        makeConsole: (ListenAddress, Metrics.Labels) throws -> ConsoleServer,
        shutdown: @escaping @Sendable () -> Void,
        cutOff: String = "stopped at once: what was open times out and is done again",
        service: () async throws -> Void
    ) async throws {
        BrokerNotice.end()
        let console = try address.map { address in
            let console = try makeConsole(
                address, ["version": Version.number, "librdkafka": LibraryVersions.librdkafka])
            logger.info("serves http://\(address)/metrics, /live and /ready")
            return console
        }
        let signals = Signals(
            first: shutdown,
            again: {
                logger.warning("\(cutOff)")
                exit(ExitCode.notInTime.rawValue)
            })
        defer {
            signals.cancel()
            console?.stop()
        }
        try await service()
    }
}
