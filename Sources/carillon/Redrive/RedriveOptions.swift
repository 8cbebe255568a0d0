import Arguments
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
        if let id, ResendID(id) == nil { problems.append("--id \(id) is not allowed; it must be \(ResendID.rule)") }
        return problems
    }

    var choice: RedriveChoice { undelivered ? .undelivered : includeSent ? .all : .missed }

    /// Nil if the text is no duration.
    var maxAgeMilliseconds: Int64? { ReplayOptions.maxAge(maxAge) }
}
