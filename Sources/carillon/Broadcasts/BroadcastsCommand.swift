import Arguments
import Pipeline

/// `carillon broadcasts`
struct BroadcastsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "broadcasts",
        abstract: "Send broadcasts to every device in a channel, until SIGTERM or SIGINT.",
        discussion: """
            Reads topic.broadcasts and the subscriptions, and writes one record for each device of a broadcast's channel, \
            also for those that join while it is valid. The same as 'carillon run --roles broadcasts'. The first signal commits what is open; a second one ends the \
            process at once. Exit codes: 0 drained; 3 instance in use; 64 usage; 70 a defect, or a record that cannot be \
            written; 75 not drained in time; 77 not permitted; 78 configuration, or a person must decide.
            """,
        examples: [
            ("carillon broadcasts --config carillon.properties", "Beside `carillon run`, on the same host or another."),
            (
                "carillon broadcasts --config carillon.properties --include-valid",
                "The first start, with what is valid."
            ),
        ])

    @OptionGroup(title: "Configuration") var options: ConfigurationOptions
    @OptionGroup(title: "Configuration") var process: InstanceOption
    @OptionGroup(title: "Configuration") var folder: StateFolderOption
    @Flag(help: "The first start sends every broadcast that is still valid; otherwise only those published later.")
    var includeValid: Bool
    @Option(help: "workers, threads with a consumer and a producer each; one per core by default.", valueName: "count")
    var workers: String?
    @Option(help: "http, where to serve /metrics, /live and /ready; nowhere by default.", valueName: "host:port")
    var http: String?

    func run() async throws {
        var flags = process.flags + folder.flags
        if let workers { flags.append(.init(name: "--workers", key: "workers", value: workers)) }
        if let http { flags.append(.init(name: "--http", key: "http", value: http)) }
        let configuration = try options.checked(adding: flags)
        try await Daemon(configuration: configuration, roles: [.broadcasts], includesValid: includeValid).run()
    }
}
