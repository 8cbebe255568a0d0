import API
import Broadcasts
import Console
import Foundation
import KafkaClient
import Pipeline
import Registrar
import Sender

/// A process that runs its roles until a signal: `carillon run`, and the commands that are one role each.
struct Daemon {
    let configuration: PipelineConfiguration
    let roles: [RoleName]
    /// Of broadcasts: whether a first start begins with the oldest one that is still valid.
    var includesValid = false
    /// Of the sender: to whom this process sends.
    var providers = Platform.allCases
    /// Of the sender: where it begins for a provider that has no committed offsets.
    var start: SenderStart?

    /// The pages are served before the roles work and until they have ended, so that the process can also be observed while
    /// it waits or drains. Where systemd or the like has started it, it is told the same.
    func run() async throws {
        BrokerNotice.end()
        let display = LiveDisplay()
        let logger = configuration.makeLogger(around: display)
        logger.info(
            "\(Version.text) starts",
            [
                "roles": roles.map(\.rawValue).joined(separator: ","), "librdkafka": LibraryVersions.librdkafka,
                "openssl": LibraryVersions.openSSL, "group": configuration.groupID,
                "instance": configuration.instanceID, "workers": "\(configuration.workers)",
            ])
        let metrics = Metrics()
        let made = makeRoles(logger, metrics)
        let process = ProcessHost(made, logger: logger, metrics: metrics)
        let console = try configuration.http.map { address in
            let console = try ConsoleServer(
                at: address, metrics: metrics,
                build: ["version": Version.number, "librdkafka": LibraryVersions.librdkafka],
                stuck: { process.stuck }, unready: { process.unready })
            logger.info("serves http://\(address)/metrics, /live and /ready")
            return console
        }
        // The sender's drain may take 15 s more than the others'.
        let notifier = ServiceManager(environment: ProcessInfo.processInfo.environment).map {
            ServiceNotifier($0, drainTimeout: configuration.shutdownTimeout + .seconds(15)) {
                ServiceState(unready: process.unready, stuck: process.stuck, status: process.status)
            }
        }
        let signals = Signals(
            first: {
                process.shutdown()
                notifier?.stops()
            },
            again: {
                logger.warning("stopped at once: what was open is done again, and pushes in flight are sent again")
                exit(ExitCode.notInTime.rawValue)
            })
        for case let pipeline as NotificationPipeline in made { display.start(pipeline.meter) }
        defer {
            display.stop()
            signals.cancel()
            console?.stop()
            notifier?.end()
        }
        try await process.run()
    }

    /// They share a clock and what is known of the broadcasts and of `topic.control`.
    private func makeRoles(_ logger: Logger, _ metrics: Metrics) -> [any Role] {
        let clock = PipelineClock()
        let follower = BroadcastFollower(configuration, logger: logger, metrics: metrics)
        let control = ControlFollower(configuration, logger: logger, metrics: metrics)
        return roles.map { role in
            var logger = logger
            if roles.count > 1 { logger.metadata["role"] = role.rawValue }
            switch role {
            case .pipeline:
                return NotificationPipeline(
                    configuration: configuration, logger: logger, metrics: metrics, clock: clock)
            case .broadcasts:
                return BroadcastService(
                    configuration: configuration, includesValid: includesValid, logger: logger, metrics: metrics,
                    clock: clock, follower: follower)
            case .deliver:
                return SenderService(
                    configuration: configuration, providers: providers, start: start, logger: logger, metrics: metrics,
                    clock: clock, follower: follower, control: control)
            case .registrar:
                return RegistrarService(configuration: configuration, logger: logger, metrics: metrics, clock: clock)
            case .api:
                return APIService(
                    configuration: configuration, version: Version.number, logger: logger, metrics: metrics,
                    clock: clock, broadcasts: follower, control: control)
            }
        }
    }
}
