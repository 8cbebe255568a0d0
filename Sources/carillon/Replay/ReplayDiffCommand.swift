import Arguments
import Pipeline

/// `carillon replay diff`
struct ReplayDiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Compare what events give with what was sent, or with what other rules give.",
        discussion: """
            Compares value and headers of each record byte for byte. Exits with 0 if nothing differs, with 1 if something \
            does, and with 2 if nothing differs, but the journal, the log or the subscriptions are incomplete, so that the \
            result is not certain.
            """,
        examples: [
            ("carillon replay diff --from -2h", "With what was sent."),
            ("carillon replay diff --offsets 1200..1300 --partition 3 --json", "A part of a partition, as JSON."),
            ("carillon replay diff --from -7d --with-config new.properties", "A change of rules, before it goes live."),
        ])

    @OptionGroup(title: "Selection") var selection: ReplayOptions
    @Option(help: "What was sent: topic.dispatch by default.", valueName: "topic:NAME") var against: String?
    @Option(
        help: "A file in the place of --config: compare with what it gives. Flags go for both.", valueName: "file",
        completion: .file)
    var withConfig: String?
    @Flag(help: "Print JSON.") var json: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func validate() -> [String] {
        var problems: [String] = []
        if let against, !against.hasPrefix("topic:") { problems.append("--against \(against): it must be topic:NAME") }
        if against != nil, withConfig != nil { problems.append("--against and --with-config cannot be used together") }
        return problems
    }

    func run() async throws {
        let configuration = try options.checked()
        let now = WallClock.now
        let other = try withConfig.map { try options.checked(inPlaceOfConfig: $0) }
        // A device that has unsubscribed since was sent its pushes all the same.
        let request = try selection.request(
            view: other == nil ? .asOfEvent : .both, now: now, configuration)
        let topic = against.map { String($0.dropFirst("topic:".count)) } ?? configuration.topics.dispatch
        var foreign = 0
        let (input, report) = try ReplayWork.perform(configuration, request) { session in
            if let other {
                let report = try session.diff(with: other)
                return (session.input, report)
            }
            let found = try session.diff(against: topic)
            foreign = found.foreign
            return (session.input, found.report)
        }
        if !json { input.tell() }
        try Output.print(
            DifferencesReport(
                input: input, report: report, foreign: foreign, there: other == nil ? topic : "the present rules"),
            json: json)
        if !report.isZero { throw CommandFailure(.difference, lines: []) }
        if input.isApproximate { throw CommandFailure(.approximate, lines: []) }
    }
}
