import Arguments
import Foundation
import JSONReader
import KafkaClient
import Pipeline
import Registrar

/// `topic.commands` as the command line writes it, and what the registrar decides.
struct CommandLog {
    /// What became of a command.
    struct Decided {
        /// Its offset, which is the revision of what it has changed.
        var command: Int64
        var verdict: Verdict
        /// When the broker appended it; nil where the topic does not say.
        var time: WallTime?
    }

    let configuration: PipelineConfiguration

    /// - Throws: where `topic.commands` is not set: exit code 78.
    init(_ options: ConfigurationOptions) throws {
        configuration = try options.checked(
            with: \.commands, "commands", so: "there is no registrar", alsoFor: "carillon run --roles registrar")
    }

    /// Writes a command, and waits until the registrar has decided it.
    ///
    /// - Throws: where it does not in time: exit code 75. The command is recorded then, and will be decided.
    func decide(_ action: Action, if condition: Condition? = nil, _ wait: VerdictOptions) throws -> Decided {
        var consumer = try Consumer(assigning: configuration.kafka, logger: configuration.clientSink)
        let topics = configuration.topics
        let ends = try consumer.explaining { consumer throws(KafkaError) in
            try consumer.endOffsets(
                consumer.partitions(of: topics.verdicts, timeout: .seconds(30)), timeout: .seconds(30))
        }
        try consumer.assign(ends)
        var writer = try TopicWriter(topics.commands, configuration)
        let command = Command(action, by: Self.author, if: condition)
        guard
            let position = try writer.writeAndLocate(ProducerRecord(key: nil, value: command.json, partition: 0))
        else { throw CommandFailure(.notInTime, "the broker does not say whether it has the command; repeat it") }
        let deadline = ContinuousClock.now + wait.timeout.duration
        guard let verdict = Self.verdict(of: position.offset, in: &consumer, until: deadline) else {
            if wait.json { try Output.print(RecordedCommand(command: position.offset), json: true) }
            throw CommandFailure(
                .notInTime,
                "recorded as \(position), and not decided within \(wait.timeout.argumentText): no registrar is running? The "
                    + "next one decides it")
        }
        return Decided(command: position.offset, verdict: verdict, time: writer.takeAppendTime())
    }

    /// Whoever runs the command, as a backend's key: what is written here may do everything.
    private static var author: Author { .key("cli:\(NSUserName())@\(ProcessInfo.processInfo.hostName)") }

    private static func verdict(
        of command: Int64, in consumer: inout Consumer, until deadline: ContinuousClock.Instant
    ) -> Verdict? {
        var json = JSONReader()
        var batch = RecordBatch()
        while .now < deadline {
            batch.removeAll()
            consumer.fill(&batch, limit: 500, timeout: min(deadline - .now, .milliseconds(500)))
            for index in 0..<batch.count {
                let found = batch[index].value.flatMap { Verdict.read(Array($0), &json) }
                if let found, found.command == command { return found.verdict }
            }
        }
        return nil
    }
}

extension CommandLog.Decided {
    /// What a verdict means that does not fit to the command.
    func failure(absent: CommandFailure) -> CommandFailure {
        switch verdict {
        case .refused(.preconditionFailed), .refused(.notFound): absent
        case .refused(.invalid(let problems)): CommandFailure(.usage, lines: problems)
        case .refused(.tooManyAudiences(let most)):
            CommandFailure(.usage, "there are too many audiences; allowed are at most \(ProgressLine.grouped(most))")
        case .refused(let refusal): CommandFailure(.defect, "the registrar refuses the command: \(refusal.code)")
        case .malformed:
            CommandFailure(.configuration, "the registrar cannot read the command: is it of an older version?")
        case .created, .changed, .unchanged, .gone, .erased:
            CommandFailure(.defect, "the registrar says '\(verdict.word)', which is no answer to this command")
        }
    }
}

/// How a command that changes something waits and answers.
struct VerdictOptions: ParsableArguments {
    @Option(help: "How long to wait until the registrar has decided.", valueName: "duration")
    var timeout = ReadyCommand.Timeout(.seconds(10))
    @Flag(help: "Print the outcome as JSON.") var json: Bool
}

/// A command that is not decided yet.
struct RecordedCommand: Report {
    /// Its offset in the topic of commands.
    var command: Int64
    var status = "recorded"

    var rows: [Row] { [.line("recorded: command \(command)")] }
}
