import Arguments
import Pipeline

/// `carillon api run`
struct APIRunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Take requests for notifications over HTTP until SIGTERM or SIGINT.",
        discussion: """
            Writes what backends send to topic.requests, and answers when Kafka has it. The same as 'carillon run --roles \
            api'; any number of processes may run. The first signal answers what is open; a second one ends the process at \
            once. Exit codes: 0 drained; 64 usage; 70 a defect; 75 not drained in time; 77 not permitted; 78 \
            configuration, or a person must decide.
            """,
        examples: [
            ("carillon api --config carillon.properties", "At the address of api.http."),
            ("carillon api --config carillon.properties --listen 127.0.0.1:8080", "Behind a proxy on this host."),
        ])

    @OptionGroup(title: "Configuration") var options: ConfigurationOptions
    @Option(help: "api.http, where the API listens.", valueName: "host:port") var listen: String?
    @Option(help: "http, where to serve /metrics, /live and /ready; nowhere by default.", valueName: "host:port")
    var http: String?

    func run() async throws {
        var flags: [ConfigurationLoader.Flag] = []
        if let listen { flags.append(.init(name: "--listen", key: "api.http", value: listen)) }
        if let http { flags.append(.init(name: "--http", key: "http", value: http)) }
        let configuration = try options.checked(adding: flags)
        try await Daemon(configuration: configuration, roles: RoleChoice.api.roles(configuration)).run()
    }
}
