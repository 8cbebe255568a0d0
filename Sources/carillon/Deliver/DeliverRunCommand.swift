import Arguments
import Pipeline
import Sender

/// `carillon deliver run`
struct DeliverRunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Send pushes to FCM and APNs until SIGTERM or SIGINT.",
        discussion: """
            Reads the dispatch topic, sends each record's message with the lifetime that is left, and writes one outcome for \
            each to notifications.deliveries. The same as 'carillon run --roles deliver'. The first signal waits up to 15 s for the last answers and commits them; a \
            second one ends the process at once. Exit codes: 0 drained; 3 instance in use; 64 \
            usage; 70 a defect; 75 not drained in time; 77 not permitted; 78 configuration, or a person must decide.
            """,
        examples: [
            ("carillon deliver --config carillon.properties --from latest", "The first start, from now on."),
            ("carillon deliver --config carillon.properties --from-group sender", "In place of another sender."),
            ("carillon deliver --config carillon.properties --provider apns", "Only to APNs, in a process of its own."),
            ("carillon deliver --config carillon.properties --check", "Whether the providers accept the credentials."),
        ])

    @OptionGroup(title: "Configuration") var options: ConfigurationOptions
    @OptionGroup(title: "Configuration") var process: InstanceOption
    @Option(
        help: "Only to this provider. To all by default.",
        valueName: Platform.allCases.map(\.rawValue).joined(separator: "|"))
    var provider: Platform?
    @Option(
        help: "Where the first start begins: earliest, latest, a time, a date or -1h.", valueName: "position",
        completion: .list(["earliest", "latest"]))
    var from: String?
    @Option(help: "The same: where this group is, the sender that it replaces.", valueName: "group")
    var fromGroup: String?
    @Option(help: "http, where to serve /metrics, /live and /ready; nowhere by default.", valueName: "host:port")
    var http: String?

    @Flag(
        help: "Ask the providers whether they accept each credential, notify nobody, and end; 1 if one is not accepted."
    )
    var check: Bool

    func validate() -> [String] {
        from != nil && fromGroup != nil ? ["--from and --from-group: only one of the two can say where to begin"] : []
    }

    func run() async throws {
        var flags = process.flags
        if let from { flags.append(.init(name: "--from", key: "from", value: from)) }
        if let http { flags.append(.init(name: "--http", key: "http", value: http)) }
        let configuration = try options.checked(adding: flags, needsBroker: !check)
        if check { return try checkCredentials(configuration) }
        try await Daemon(
            configuration: configuration, roles: [.deliver], providers: provider.map { [$0] } ?? Platform.allCases,
            start: fromGroup.map { .group($0) } ?? configuration.from.map { .position($0) }
        ).run()
    }

    private func checkCredentials(_ configuration: PipelineConfiguration) throws {
        guard !configuration.delivery.credentials.isEmpty else {
            throw CommandFailure(.configuration, "delivery.credentials is not set: there is nothing to check")
        }
        for warning in configuration.delivery.credentials.compactMap(LoadedCredential.warning) {
            Terminal.warn("warning: \(warning)")
        }
        let trials = try CredentialTrial.run(configuration.delivery, logger: configuration.makeLogger())
        var table = TextTable(["CREDENTIAL", "ENVIRONMENT", "RESULT"])
        var (refused, unknown) = (0, 0)
        for trial in trials {
            let result: String
            switch trial.outcome {
            case .accepted: result = "accepted"
            case .refused(let reason):
                result = "not accepted: \(reason)"
                refused += 1
            case .failed(let reason):
                result = "not known: \(reason)"
                unknown += 1
            }
            table.append([trial.credential, trial.environment?.rawValue ?? "-", result])
        }
        Terminal.write(table.text)
        guard refused + unknown == 0 else {
            throw CommandFailure(
                .difference, "of \(trials.count), \(refused) not accepted, \(unknown) not known")
        }
    }
}
