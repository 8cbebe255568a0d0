import Arguments
import Digests
import Replay

/// What a re-drive sends, and how fast.
struct RedriveOptions: ParsableArguments {
    @Option(help: "Devices per second: 500 by default.", valueName: "n") var rate: Int?
    @Option(help: "Leave out what is older, by the event's time: 1h by default.", valueName: "duration")
    var maxAge: String?
    @Flag(help: "Send again what was dispatched already.") var includeSent: Bool
    @Flag(help: "Send again what was dispatched and then refused or given up, by topic.deliveries; nothing else.")
    var undelivered: Bool
    @Option(help: "The id to resume under; a new one by default.", valueName: "name") var id: String?

    static let defaultRate = 500

    func validate() -> [String] {
        var problems: [String] = []
        if let rate, !(1...1_000_000).contains(rate) {
            problems.append("--rate \(rate) is not allowed; it must be 1 to 1000000 devices per second")
        }
        if let maxAge, maxAgeMilliseconds == nil {
            problems.append("--max-age \(maxAge) is not allowed; it must be a duration such as 90s, 15m, 2h or 1d")
        }
        if undelivered, includeSent { problems.append("--undelivered and --include-sent cannot be used together") }
        if let id, RedriveID(id) == nil { problems.append("--id \(id) is not allowed; it must be \(RedriveID.rule)") }
        return problems
    }

    var choice: RedriveChoice { undelivered ? .undelivered : includeSent ? .all : .missed }

    /// Nil if the text is no duration.
    var maxAgeMilliseconds: Int64? { ReplayOptions.maxAge(maxAge) }

    /// The given id, or a new one.
    static func replayID(_ id: String?, now: WallTime) -> RedriveID {
        id.flatMap { RedriveID($0) } ?? RedriveID(time: now.iso8601, random: .random(in: 0 ... .max))
    }
}

/// Identifies the options: a resumed re-drive must have the same ones.
enum RedriveDigest {
    static func make(
        _ selection: ReplayOptions, _ redrive: RedriveOptions, _ configuration: PipelineConfiguration
    ) -> String {
        func list(_ name: String, _ texts: [String]) -> [String] { [name, "\(texts.count)"] + texts.sorted() }
        var parts = ["redrive", configuration.rulesHash, configuration.groupID]
        parts += [configuration.topics.events, configuration.topics.dispatch]
        parts += [selection.from ?? "", selection.to ?? "", selection.offsets ?? ""]
        parts += list("partition", selection.partition.map(String.init)) + list("order", selection.order)
        parts += list("place", selection.place) + list("type", selection.type) + list("status", selection.status)
        parts += [selection.subscriptions?.rawValue ?? "both", "\(redrive.maxAgeMilliseconds ?? 0)"]
        parts.append(redrive.includeSent ? "include-sent" : "")
        if !configuration.topics.requests.isEmpty { parts += ["requests", configuration.topics.requests] }
        if !selection.topic.isEmpty { parts += list("topic", selection.topic) }
        if !selection.request.isEmpty { parts += list("request", selection.request) }
        if redrive.undelivered { parts += ["undelivered", configuration.topics.deliveries] }
        return of(parts)
    }

    /// Each part is preceded by its length, so that no two lists look the same.
    static func of(_ parts: [String]) -> String {
        SHA256.hex(of: parts.map { "\($0.utf8.count):\($0)" }.joined(), digits: 16)
    }
}
