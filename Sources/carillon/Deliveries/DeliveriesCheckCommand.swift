import Arguments
import Pipeline
import Replay

/// `carillon deliveries check`
struct DeliveriesCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract:
            "Check that each dispatch record that its lane has finished has one outcome, or waits in a retry topic.",
        discussion: """
            Ends with 1 if one has neither, or two outcomes. May run beside 'carillon deliver'. Without --from all records \
            that are kept are judged, except for those before the first one of a partition of which the lane has left a \
            trace: it may have been started there. Memory: two bits for each offset of the range.
            """,
        examples: [
            ("carillon deliveries check", "Everything that is kept."),
            (
                "carillon deliveries check --from -1d --json",
                "The dispatch records of the last day, as one JSON document."
            ),
        ])

    @Option(help: "From the first dispatch record at this time, or so long ago.", valueName: "time|-2h")
    var from: String?
    @Option(help: "The defects to list: 20 by default. All are counted.", valueName: "n") var list: Int?
    @Flag(help: "Print one JSON document.") var json: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    private static let defaultList = 20

    func validate() -> [String] {
        var problems = ReplayOptions.problems(from: from, to: nil, partition: [])
        if let list, !(0...1_000_000).contains(list) {
            problems.append("--list \(list) is not allowed; it must be 0 to 1000000")
        }
        return problems
    }

    func run() async throws {
        let configuration = try options.checked()
        let now = WallClock.now
        let from = ReplayOptions.time(from, now: now)
        let reports = try ReplayWork.withContext(configuration, now: now) { context in
            try configuration.topics.dispatchTopics.map { topic in
                try DeliveryCheck(context, of: topic, from: from, mostListed: list ?? Self.defaultList).run()
            }
        }
        let text = LaneAuditText(reports: reports, topics: configuration.topics)
        for line in text.notes { Terminal.warn(line) }
        Terminal.write(json ? try JSONOutput.text(text.document) : text.text)
        guard text.isSound else {
            throw CommandFailure(
                .difference,
                "\(ProgressLine.grouped(text.lost)) dispatch records have no outcome, "
                    + "\(ProgressLine.grouped(text.repeated)) have two")
        }
    }
}
