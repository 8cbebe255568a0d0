import HTTPServer
import JSONReader
import KafkaClient
import Notifications
import Pipeline
import Registrar
import Replay

/// What became of a command (docs/devices.md): for whoever has sent it, as long as its verdict is kept.
package final class CommandEndpoints: Sendable {
    private let configuration: PipelineConfiguration
    private let reads: TopicReads
    private let surroundings: APIHandler.Surroundings
    private let logger: Logger

    /// - Parameter configuration: with `topic.commands`.
    package init(
        _ configuration: PipelineConfiguration, _ reads: TopicReads, _ surroundings: APIHandler.Surroundings,
        logger: Logger
    ) {
        (self.configuration, self.reads, self.surroundings, self.logger) = (configuration, reads, surroundings, logger)
    }

    package var all: [Endpoint] { [Endpoint(Self.get) { call throws(Problem) in try self.get(call) }] }

    private func get(_ call: Call) throws(Problem) -> Endpoint.Reply {
        guard let position = Int64(call.pathValues[0]), (0..<Int64.max).contains(position) else {
            throw Problem(.badPath, "the position is none of a command; allowed is what Location has said")
        }
        // Of these nobody has a command, and reads are few.
        if let credential = call.credential, !surroundings.knows(credential) { throw Self.notFound }
        return try reads.reply(to: call) { turn in
            let read = CommandReads(self.configuration, turn, logger: self.logger)
            guard let (command, time) = try read.command(at: position), command.author.isCaller(call) else {
                throw Self.notFound
            }
            let fate = try read.fate(of: position, since: time)
            guard fate != .forgotten else { throw Self.notFound }
            return call.response(.ok, .object([("command", .integer(position))] + fate.members))
        }
    }

    private static let notFound = Problem(
        .notFound, "there is no such command of this caller, or its verdict is not kept any more")
}

/// What is known of a command.
enum CommandFate: Equatable {
    /// No registrar has come to it.
    case recorded
    case decided(Verdict)
    /// It is decided, and the verdict is not there any more.
    case forgotten

    var members: [(name: String, value: Document)] {
        switch self {
        case .recorded: return [("status", "recorded")]
        case .forgotten: return [("status", "forgotten")]
        case .decided(let verdict):
            var members: [(name: String, value: Document)] = [
                ("status", "decided"), ("verdict", .text(verdict.word)),
            ]
            switch verdict {
            case .created(let revision), .changed(let revision), .unchanged(let revision):
                members.append(("revision", .integer(revision)))
            case .erased(let devices): members.append(("devices", .integer(Int64(devices))))
            case .refused(let refusal): members.append(("reason", .text(refusal.code)))
            case .gone, .malformed: break
            }
            return members
        }
    }
}

extension Author {
    /// Whether the call is of the same caller, or of a key that may look at everything.
    func isCaller(_ call: Call) -> Bool {
        if call.key?.scopes.contains(.readTraces) == true { return true }
        switch self {
        case .key(let id): return call.key?.id == id
        case .user(let person, _): return call.user.map { ByteText($0.subject) == person } ?? false
        case .device(let hash): return call.credential?.hash == hash
        case .sender: return false
        }
    }
}

/// What is read of commands and verdicts for one answer.
struct CommandReads {
    /// So far may clocks be apart, in milliseconds.
    private static let skew: Int64 = 60_000
    /// Ends a read.
    private struct Found: Error {
        var fate: CommandFate
    }

    let configuration: PipelineConfiguration
    let turn: TopicReads.Turn
    let logger: Logger

    init(_ configuration: PipelineConfiguration, _ turn: TopicReads.Turn, logger: Logger) {
        (self.configuration, self.turn, self.logger) = (configuration, turn, logger)
    }

    /// A command, and when the broker has appended it; nil: there is none any more, or it is none of this version.
    func command(at position: Int64) throws -> (command: Command, time: WallTime)? {
        let topic = configuration.topics.commands
        var consumer = try Consumer(assigning: configuration.kafka, logger: logger.clientSink)
        let bounds = try consumer.bounds(of: topic, timeout: TopicReads.timeout)
        guard bounds[0]?.contains(position) == true else { return nil }
        var reader = JSONReader()
        var found: (command: Command, time: WallTime)?
        try TopicReader.read([0: position..<position + 1], of: topic, with: &consumer) { batch, indices in
            if turn.isStopped { throw ReadingStopped() }
            for index in indices {
                guard let value = batch[index].value, let time = batch[index].timestamp,
                    let command = Command(Array(value), &reader)
                else { continue }
                found = (command, time)
            }
        }
        return found
    }

    /// - Parameter time: when the command was appended.
    func fate(of command: Int64, since time: WallTime) throws -> CommandFate {
        if let fate = try verdict(of: command, since: time) { return fate }
        let commands = TopicPartition(topic: configuration.topics.commands, partition: 0)
        // A transaction that is open delays no answer.
        let registrar = try Consumer(
            assigning: configuration.kafka.merging(["isolation.level": "read_uncommitted"]) { $1 },
            group: configuration.registrarGroup, logger: logger.clientSink)
        let next = try registrar.committed([commands], timeout: TopicReads.timeout)[commands]?.offset.value ?? 0
        guard next > command else { return .recorded }
        // The offset of the group may be known before the end of the transaction that it is of.
        let ends = try registrar.endOffsets([verdicts], timeout: TopicReads.timeout)
        return try verdict(of: command, since: time, upTo: ends) ?? .forgotten
    }

    private var verdicts: TopicPartition { TopicPartition(topic: configuration.topics.verdicts, partition: 0) }

    /// Seeks the verdict of a command: verdicts are in the order of the commands, each later than its own.
    ///
    /// - Parameter ends: nil: what is committed now.
    /// - Returns: nil: none is of it or a later one.
    private func verdict(
        of command: Int64, since time: WallTime, upTo ends: [TopicPartition: Offset]? = nil
    ) throws -> CommandFate? {
        var consumer = try Consumer(assigning: configuration.kafka, logger: logger.clientSink)
        let starts = try consumer.offsets(at: time - Self.skew, of: [verdicts], timeout: TopicReads.timeout)
        let ends = try ends ?? consumer.endOffsets([verdicts], timeout: TopicReads.timeout)
        var reader = JSONReader()
        var count = 0
        do {
            try TopicReader.read(from: starts, to: ends, with: &consumer) { batch in
                if turn.isStopped { throw ReadingStopped() }
                count += batch.count
                guard count <= TopicReads.mostRecords else { throw TooMuchToRead() }
                for index in 0..<batch.count {
                    guard let value = batch[index].value, let (decided, verdict) = Verdict.read(Array(value), &reader),
                        decided >= command
                    else { continue }
                    throw Found(fate: decided == command ? .decided(verdict) : .forgotten)
                }
            }
        } catch let found as Found {
            return found.fate
        }
        return nil
    }
}

extension CommandEndpoints {
    static let get = APIOperation(
        "getCommand", .get, "/v1/commands/{position}",
        "What became of a change of a device or a person that was answered with 202.",
        scopes: [.writeDevices, .writePeople, .erasePeople, .readTraces], isForUsers: true, isForDevices: true,
        pathParameters: [
            APIOperation.Parameter(
                "position", "What Location has said.", ["type": "integer", "minimum": 0, "maximum": .integer(.max - 1)])
        ],
        responses: [
            APIOperation.Response(
                .ok, "It is there, and what was decided", ["$ref": "#/components/schemas/Command"])
        ], problems: [.notYet, .incomplete])

    static let operations = [get]

    static let schemas: [(name: String, value: Document)] = [
        (
            "Command",
            [
                "type": "object", "required": ["command", "status"],
                "properties": [
                    "command": ["type": "integer"], "status": ["enum": ["recorded", "decided"]],
                    "verdict": ["type": "string", "description": "As docs/devices.md has them."],
                    "revision": ["type": "integer"], "devices": ["type": "integer"],
                    "reason": ["type": "string", "description": "Of a refusal."],
                ],
            ]
        )
    ]
}
