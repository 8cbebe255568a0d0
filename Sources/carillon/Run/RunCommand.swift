import Arguments
import Pipeline

/// `carillon run`
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Turn order events into pushes, exactly once, until SIGTERM or SIGINT; with --roles also send them.",
        discussion: """
            Every setting is in docs/settings.md, and 'carillon check-config' shows them with their values. Waits for an \
            unreachable broker. A process may have several roles: pipeline, broadcasts (as 'carillon broadcasts'), \
            deliver (as 'carillon deliver'), registrar, which decides about devices, and api (as 'carillon api run'). The first signal drains and commits; a second one ends the process at once. \
            Exit codes: 0 drained; 3 instance or slot in use; 64 usage; 70 a defect, or a record that cannot be written \
            anywhere; 75 not drained in time; 77 not permitted; 78 configuration, or a person must decide.
            """,
        examples: [
            ("carillon run -b localhost:9092 --from latest", "The first start of a group, from now on."),
            ("carillon run --config carillon.properties", "As the file says."),
            ("carillon run --config carillon.properties --workers 4 --instance b", "A second process on this host."),
            ("carillon run --config carillon.properties --http 127.0.0.1:9464", "With metrics and health over HTTP."),
            ("carillon run --config carillon.properties --roles all", "The whole of it in one process."),
        ])

    @OptionGroup(title: "Configuration") var options: ConfigurationOptions
    @OptionGroup(title: "Configuration") var process: InstanceOption
    @OptionGroup(title: "Configuration") var folder: StateFolderOption
    @Option(
        help: "What this process does; all is every role whose settings are there.", valueName: "role,…|all",
        completion: .list(RoleChoice.words))
    var roles = RoleChoice.pipeline
    @Option(
        help: "Where partitions without a committed offset start: earliest, latest, a time, a date or -1h.",
        valueName: "position", completion: .list(["earliest", "latest"]))
    var from: String?
    @Option(help: "workers, threads with a consumer and a producer each; one per core by default.", valueName: "count")
    var workers: String?
    @Option(help: "http, where to serve /metrics, /live and /ready; nowhere by default.", valueName: "host:port")
    var http: String?

    func run() async throws {
        var flags = process.flags + folder.flags
        if let from { flags.append(.init(name: "--from", key: "from", value: from)) }
        if let workers { flags.append(.init(name: "--workers", key: "workers", value: workers)) }
        if let http { flags.append(.init(name: "--http", key: "http", value: http)) }
        let configuration = try options.checked(adding: flags)
        try await Daemon(
            configuration: configuration, roles: roles.roles(configuration),
            start: configuration.from.map { .position($0) }
        ).run()
    }
}
