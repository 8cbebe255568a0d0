import Notifications
import Pipeline

/// What a request would give: the message of each provider, for a made-up device, and how many devices it would reach.
struct RequestDryRun {
    /// For one provider.
    private struct Message {
        var platform: Platform
        var headers: [(name: String, value: String)] = []
        /// What the provider gets.
        var payload: String?
        /// Why it gets nothing.
        var refusal: DeadLetter?
    }

    private var messages: [Message] = []
    /// By provider; nil: too many to be counted.
    private let devices: [Platform: Int]?

    /// - Parameters:
    ///   - value: a request that the rules have accepted.
    ///   - now: the record's time, and the clock of the transaction.
    init(
        _ value: [UInt8], _ audiences: [String], _ configuration: PipelineConfiguration, now: WallTime,
        _ turn: TopicReads.Turn, logger: Logger
    ) throws {
        do {
            let table = try SubscribedDevices.read(
                audiences, configuration, now: now, logger: logger.clientSink, most: TopicReads.mostRecords,
                isStopped: { turn.isStopped })
            var trial = try RequestTrial(configuration, table: table)
            devices = try trial.reach(value, now: now).devices
        } catch is SubscribedDevices.TooMany {
            devices = nil
        }
        var trial = try RequestTrial(configuration)
        for platform in Platform.allCases {
            var sink = Sink(message: Message(platform: platform))
            try trial.run([], value, platform, now: now, into: &sink)
            messages.append(sink.message)
        }
    }

    /// Of the answer, beside the ids.
    var members: [(name: String, value: Document)] {
        let counts = devices.map { devices in
            Platform.allCases.map { (name: $0.rawValue, value: Document.integer(Int64(devices[$0] ?? 0))) }
        }
        return [("messages", .list(messages.map(Self.document)))] + (counts.map { [("devices", .object($0))] } ?? [])
    }

    private static func document(_ message: Message) -> Document {
        var members: [(name: String, value: Document)] = [("platform", .text(message.platform.rawValue))]
        if let payload = message.payload {
            members.append(("headers", .object(message.headers.map { ($0.name, .text($0.value)) })))
            members.append(("payload", .text(payload)))
        }
        if let refusal = message.refusal {
            members.append(("code", .text(refusal.code.label)))
            members.append(("detail", .text(refusal.message)))
        }
        return .object(members)
    }

    private struct Sink: RecordSink, ~Copyable {
        var message: Message

        mutating func dispatch(_ record: DispatchRecord, for notification: Notification, from event: EventRecord) {
            message.headers = record.headers.map { header in
                let value = header.value.map { String(decoding: $0, as: UTF8.self) }
                return (String(decoding: header.name, as: UTF8.self), value ?? "")
            }
            message.payload = String(decoding: record.value, as: UTF8.self)
        }

        mutating func deadLetter(
            _ letter: DeadLetter, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
            headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
        ) {
            message.refusal = letter
        }
    }
}
