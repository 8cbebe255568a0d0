import Arguments
import Replay

/// `carillon deliveries summary`
struct DeliveriesSummaryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "summary",
        abstract: "Count outcomes by platform, credential, app, outcome, status and reason.",
        discussion: """
            Reads topic.deliveries from a time to its end. REQUESTS are those that may have reached the provider; P50 and \
            P99 are the time from the first to the last of them, at most 1/32 too long. With topic.receipts also what \
            phones have said in that time.
            """,
        examples: [
            ("carillon deliveries summary --from -1h", "The outcomes of the last hour."),
            (
                "carillon deliveries summary --from 2026-11-21T10:00:00Z --to 2026-11-21T11:00:00Z --json",
                "Those of an hour, as one JSON document."
            ),
        ])

    @Option(help: "From the first outcome at this time, or so long ago: -1h by default.", valueName: "time|-2h")
    var from: String?
    @Option(help: "To the last outcome before this time, or so long ago.", valueName: "time|-2h") var to: String?
    @Flag(help: "Print one JSON document.") var json: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func validate() -> [String] { ReplayOptions.problems(from: from, to: to, partition: []) }

    func run() async throws {
        let configuration = try options.checked()
        let now = WallClock.now
        let topic = configuration.topics.deliveries
        let from = ReplayOptions.time(from ?? "-1h", now: now) ?? now
        let to = ReplayOptions.time(to, now: now)
        let summary = try ReplayWork.withContext(configuration, now: now) { context in
            var log = try KafkaLog(context)
            return try log.summarize(configuration.topics, from: from, to: to) { context.progress(.outcomes, $0, $1) }
        }
        try Output.print(
            DeliverySummaryReport(
                summary, configuration.topics, from: from, to: to),
            json: json)
        if let reason = summary.receiptsUnknown { Terminal.warn("what phones have said is not known: \(reason)") }
        if summary.unreadable > 0 {
            let count = ProgressLine.grouped(summary.unreadable)
            Terminal.warn("\(count) records of \(topic) are no outcomes and were skipped")
        }
    }
}
