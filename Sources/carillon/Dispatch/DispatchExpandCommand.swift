import Arguments
import Console
import KafkaClient
import Pipeline
import Telemetry

/// `carillon dispatch expand`
struct DispatchExpandCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "expand",
        abstract: "Make a record for each device out of grouped ones, until SIGTERM or SIGINT.",
        discussion: """
            For a sender that does not know grouped records: reads what `dispatch.grouping=audience` writes, and writes \
            exactly once, byte for byte, what `dispatch.grouping=device` would have written. Records that are not grouped \
            are copied as they are. The first signal commits what is open; a second one ends the process at once. Exit \
            codes: 0 drained; 3 instance in use; 64 usage; 70 a defect, or a record that cannot be written; 75 not drained \
            in time; 77 not permitted; 78 configuration, or a person must decide.
            """,
        examples: [
            (
                "carillon dispatch expand --config carillon.properties --to notifications.dispatch.single --from latest",
                "The first start, from now on."
            ),
            (
                "carillon dispatch expand --config carillon.properties --of notifications.dispatch.broadcasts --to broadcasts.single",
                "The pushes of broadcasts."
            ),
        ])

    @OptionGroup(title: "Configuration") var options: ConfigurationOptions
    @OptionGroup(title: "Configuration") var process: InstanceOption
    @Option(help: "The topic for the records of single devices; it must exist.", valueName: "topic") var to: String
    @Option(help: "The topic with grouped records; topic.dispatch by default.", valueName: "topic") var of: String?
    @Option(
        help: "Where the first start begins: earliest, latest, a time, a date or -1h.", valueName: "position",
        completion: .list(["earliest", "latest"]))
    var from: String?
    @Option(help: "http, where to serve /metrics, /live and /ready; nowhere by default.", valueName: "host:port")
    var http: String?

    func run() async throws {
        var flags = process.flags
        if let from { flags.append(.init(name: "--from", key: "from", value: from)) }
        if let http { flags.append(.init(name: "--http", key: "http", value: http)) }
        let configuration = try options.checked(adding: flags)
        let logger = configuration.makeLogger()
        let settings = ExpansionSettings(configuration, source: of, target: to)
        logger.info(
            "\(Version.text) expands grouped records",
            [
                "librdkafka": LibraryVersions.librdkafka, "group": settings.group, "instance": configuration.instanceID,
                "of": settings.source, "to": settings.target,
            ])
        let metrics = Metrics()
        let service = ExpansionService(configuration: configuration, settings, logger: logger, metrics: metrics)
        try await Daemon.run(
            pagesAt: configuration.http, logger,
            makeConsole: { try ConsoleServer(at: $0, metrics: metrics, build: $1, unready: { service.unready }) },
            shutdown: { service.shutdown() },
            service: { try await service.run() })
    }
}
