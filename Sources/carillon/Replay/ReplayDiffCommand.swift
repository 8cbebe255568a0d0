import Arguments
import Pipeline
import Replay

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
        if !selection.source.isEmpty, withConfig == nil {
            problems.append("--source requires --with-config: files do not say what was sent")
        }
        return problems
    }

    func run() async throws {
        let needsBroker = selection.source.isEmpty
        let configuration = try options.checked(needsBroker: needsBroker)
        let now = WallClock.now
        let other = try withConfig.map { try options.checked(needsBroker: needsBroker, inPlaceOfConfig: $0) }
        // A device that has unsubscribed since was sent its pushes all the same.
        let request = try selection.request(
            view: other == nil ? .asOfEvent : .both, now: now, configuration.topics)
        let topic = against.map { String($0.dropFirst("topic:".count)) } ?? configuration.topics.dispatch
        var foreign = 0
        let (input, report) =
            if let other {
                try ReplayWork.perform(Comparison(other: other), configuration, request, from: selection)
            } else {
                try ReplayWork.perform(configuration, request) { session in
                    let found = try session.diff(against: topic)
                    foreign = found.foreign
                    return (session.input, found.report)
                }
            }
        if !json { input.tell() }
        try Output.print(
            DifferencesReport(
                input: input, report: report, foreign: foreign, there: other == nil ? topic : "the present rules"),
            json: json)
        if !report.isZero { throw CommandFailure(.difference, lines: []) }
        if input.isApproximate { throw CommandFailure(.approximate, lines: []) }
    }

    /// Compares with the output of other rules.
    private struct Comparison: ReplayUse {
        var other: PipelineConfiguration

        func use(_ source: inout some ReplaySource & ~Copyable) throws -> DiffReport { try source.diff(with: other) }
    }
}
