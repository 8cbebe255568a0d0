import Arguments
import Pipeline
import Telemetry

/// `carillon deliver pause`
struct DeliverPauseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Send nothing to a provider, or with a credential, until 'deliver resume'.",
        discussion: """
            Writes to topic.control, which each 'carillon deliver' follows: after 1 s no process decides to send there, and \
            a request that waits for its turn at the provider begins at most 3 s later. What is in flight gets its answer. \
            Pushes wait, and expire while they do. A pause ends after 28 days, the longest life of a push.
            """,
        examples: [
            ("carillon deliver pause fcm --why wrong-texts", "Nothing goes to FCM."),
            ("carillon deliver pause apns --credential staff --why leaked-key", "Only with this credential."),
            ("carillon deliver paused", "What is paused, since when, by whom and why."),
        ])

    @Argument(help: "The provider: fcm or apns.") var provider: Platform
    @Option(help: "Only this credential of it, by its name.", valueName: "name") var credential: String?
    @Option(help: "For whoever finds it paused: in logs, and in 'deliver paused'.", valueName: "text") var why: String
    @Flag(help: "Print the outcome as JSON.") var json: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func validate() -> [String] { [ControlEntry.problem(why: why)].compactMap(\.self) }

    func run() async throws {
        let log = try ControlLog(options)
        let target = try log.target(provider, credential)
        let entry = ControlEntry.own(why: why)
        try log.write(.pause(target), entry)
        try Output.print(PauseOutcome(target, isPaused: true, was: nil), json: json)
    }
}

/// `carillon deliver resume`
struct DeliverResumeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Send again what 'deliver pause' has stopped.",
        discussion: """
            The pause of a provider and those of its credentials are ended one by one. Sending begins slowly, as after an \
            outage of the provider.
            """,
        examples: [
            ("carillon deliver resume fcm", "Ends the pause of FCM."),
            ("carillon deliver resume apns --credential staff", "Ends that of the credential."),
        ])

    @Argument(help: "The provider: fcm or apns.") var provider: Platform
    @Option(help: "Only this credential of it, by its name.", valueName: "name") var credential: String?
    @Flag(help: "Print the outcome as JSON.") var json: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func run() async throws {
        let log = try ControlLog(options)
        let target = PauseTarget(provider, credential: credential)
        let pauses = try log.read().pauses(at: WallClock.now)
        guard let found = pauses.first(where: { $0.target == target }) else {
            let others = pauses.map { "\($0.target)" }
            throw CommandFailure(
                .difference,
                "\(target) is not paused; "
                    + (others.isEmpty ? "nothing is" : "paused is \(others.joined(separator: ", "))"))
        }
        try log.write(.pause(target), nil)
        try Output.print(PauseOutcome(target, isPaused: false, was: found.pause), json: json)
    }
}

/// `carillon deliver paused`
struct DeliverPausedCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "paused",
        abstract: "List what 'deliver pause' has stopped.",
        examples: [
            ("carillon deliver paused", "Providers and credentials, since when, by whom and why."),
            ("carillon deliver paused --json", "The same as JSON lines."),
        ])

    @Flag(help: "Print JSON lines.") var json: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func run() async throws {
        let rows = try ControlLog(options).read().pauses(at: WallClock.now).map(PauseRow.init)
        try Output.print(lines: rows, json: json, footer: ProgressLine.counted(rows.count, "pause"))
    }
}

extension ControlLog {
    /// - Throws: for a credential that this configuration does not have, where it has some of the provider: exit code 64.
    fileprivate func target(_ provider: Platform, _ credential: String?) throws -> PauseTarget {
        let known = credentials(of: provider)
        guard let credential else { return PauseTarget(provider) }
        guard !credential.isEmpty, known.isEmpty || known.contains(credential) else {
            throw CommandFailure(
                .usage,
                "--credential '\(credential)' is none of \(provider.rawValue)'s in delivery.credentials; allowed are "
                    + known.joined(separator: ", "))
        }
        return PauseTarget(provider, credential: credential)
    }
}

/// What a pause or its end has changed.
struct PauseOutcome: Report {
    var provider: Platform
    var credential: String?
    var paused: Bool
    /// Of a pause that has ended.
    var since: WallTime?

    init(_ target: PauseTarget, isPaused: Bool, was: ControlView.Pause?) {
        (provider, credential, paused) = (target.platform, target.credential, isPaused)
        since = was?.recordedAt
    }

    var rows: [Row] {
        let name = "\(PauseTarget(provider, credential: credential))"
        guard let since else { return [.line("paused \(name)")] }
        return [.line("resumed \(name), which was paused at \(since)")]
    }
}

/// A pause in a list.
struct PauseRow: TableRow {
    var provider: Platform
    var credential: String?
    var since: WallTime
    var by: String
    var why: String

    init(_ target: PauseTarget, _ pause: ControlView.Pause) {
        (provider, credential, since) = (target.platform, target.credential, pause.recordedAt)
        (by, why) = (pause.entry.by, pause.entry.why)
    }

    static let heading = ["PROVIDER", "CREDENTIAL", "SINCE", "BY", "WHY"]

    var cells: [String] { [provider.rawValue, credential ?? "all", "\(since)", by, why] }
}
