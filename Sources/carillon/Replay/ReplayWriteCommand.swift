import Arguments
import Foundation
import Replay

/// `carillon replay write`
struct ReplayWriteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "write",
        abstract: "Write what events give: as JSON lines, or to a topic that is not delivered.",
        discussion: """
            The lines are those of 'carillon render'. Records of a topic get the header 'replay'. The dispatch topic and the \
            pipeline's other topics are refused: nobody can be notified by this command. With topic.commands, pushes of people \
            and addresses that were erased after them are left out.
            """,
        examples: [
            (
                "carillon replay write --order 4711 --output - --explain",
                "An order's pushes, and where fields came from."
            ),
            ("carillon replay write --from -2h --output topic:replayed", "To a topic of your own."),
            ("carillon replay write --from -2h --output nothing", "How fast it is."),
        ])

    @OptionGroup(title: "Selection") var selection: ReplayOptions
    @Option(help: "Where to.", valueName: "-|FILE|topic:NAME|nothing", completion: .file) var output: String
    @Flag(help: "As for 'carillon render'; with lines only.") var explain: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.checked()
        let now = WallClock.now
        let request = try selection.request(view: .both, now: now, configuration)
        let began = ContinuousClock.now
        let (input, (count, erased)) = try ReplayWork.perform(configuration, request) { session in
            let counts = try write(&session, configuration, now: now)
            return (session.input, counts)
        }
        input.tell()
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        let rate = ProgressLine.grouped(Int(Double(input.eventOffsets) / max(seconds, 0.001)))
        Terminal.complain(
            "\(ProgressLine.grouped(Int(input.eventOffsets))) offsets in \(ProgressLine.grouped(input.steps)) transactions, "
                + "\(ProgressLine.grouped(count)) records, \(ProgressLine.time(seconds)), \(rate)/s\n")
        if erased > 0 {
            Terminal.complain("left out: \(ProgressLine.grouped(erased)) \(RedriveOmission.erased.sentence)\n")
        }
    }

    /// The number of records that were written, and that of pushes that were left out.
    private func write(
        _ session: inout ReplaySession, _ configuration: PipelineConfiguration, now: WallTime
    ) throws -> (records: Int, erased: Int) {
        let erased = try session.suppressionList()
        if output == "nothing" {
            let sink = try session.run(into: UnerasedSink(NothingSink(), erased))
            return (sink.base.records, sink.leftOut)
        }
        if output.hasPrefix("topic:") {
            let sink = try TopicSink(
                String(output.dropFirst("topic:".count)), id: "replay-\(now.milliseconds)", configuration,
                logger: configuration.clientSink)
            var written = try session.run(into: UnerasedSink(sink, erased))
            try written.base.finish()
            return (written.base.records, written.leftOut)
        }
        let descriptor = output == "-" ? STDOUT_FILENO : open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileError(path: output, code: errno) }
        defer { if descriptor != STDOUT_FILENO { close(descriptor) } }
        do {
            let lines = LineSink(descriptor: descriptor, topics: configuration.topics, explains: explain)
            var written = try session.run(into: UnerasedSink(lines, erased))
            try written.base.flush()
            return (written.base.records, written.leftOut)
        } catch let error as FileError where error.isBrokenPipe {
            // The reader has closed the pipe: `carillon replay write … | head`.
            return (0, 0)
        }
    }
}
