import Arguments
import Replay

/// `carillon explain`
struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Say why somebody was notified, or was not.",
        discussion: """
            Replays events and requests with the orders and the subscriptions as they were, and explains for each what \
            became of it, by which rules, in which transaction, and where its records are. Needs the settings of 'carillon run'; writes \
            nothing. --at selects an hour before and after the time. A dead letter is found by --order with its record's \
            key or an id in its value, and by --offsets with its position. Ends with 1 if it finds nothing.
            """,
        examples: [
            ("carillon explain --order 4711", "Everything that an order gave, and why some of it gave nothing."),
            ("carillon explain --partition 3 --offsets 1200..1201", "One record, whatever is in it."),
            ("carillon explain --request invoice-2026-17", "What became of a request."),
            ("carillon explain --message-id msg-1725707721000-k3j9x2a1b", "Where a push comes from."),
            (
                "carillon explain --device-token-file token.txt --place 42 --at 2026-11-21T14:00:00Z",
                "Why a device got nothing."
            ),
            (
                "carillon explain --broadcast 1235 --device-token-file token.txt",
                "Why a device got a broadcast, or did not."
            ),
        ])

    @OptionGroup(title: "Selection") var selection: ReplayOptions
    @Option(name: [.customLong("message-id")], help: "The push with this message id.", valueName: "id")
    var messageID: String?
    @Option(help: "A file that holds a device's token.", valueName: "file", completion: .file)
    var deviceTokenFile: String?
    @Option(
        help: "The newest broadcast with this notificationid, for the device of --device-token-file.", valueName: "id")
    var broadcast: String?
    @Option(help: "About this time.", valueName: "time") var at: String?
    @Flag(help: "Print JSON lines.") var json: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func validate() -> [String] {
        var problems: [String] = []
        if broadcast != nil {
            if deviceTokenFile == nil {
                problems.append("--broadcast: give --device-token-file, whose broadcast it is")
            }
            if !selection.order.isEmpty || !selection.request.isEmpty || messageID != nil || at != nil {
                problems.append("--broadcast cannot be used with --order, --request, --message-id or --at")
            }
        }
        if selection.order.isEmpty, selection.request.isEmpty, selection.offsets == nil, messageID == nil,
            deviceTokenFile == nil
        {
            problems.append(
                "nothing to explain: give --order, --request, --message-id, --device-token-file, or --offsets")
        }
        if messageID != nil, deviceTokenFile != nil {
            problems.append("--message-id and --device-token-file cannot be used together")
        }
        return problems + [ReplayOptions.timeProblem("--at", at)].compactMap(\.self)
    }

    func run() async throws {
        if let broadcast, let deviceTokenFile {
            let token = try TokenOptions.read(deviceTokenFile, of: "--device-token-file")
            let configuration = try options.checkedForBroadcasts()
            let found = try BroadcastExplanation.find(broadcast, SubscriptionKey.tokenHash(of: token), configuration)
            return try Output.print(found, json: json)
        }
        let configuration = try options.checked()
        let now = WallClock.now
        var request = try selection.request(view: .asOfEvent, now: now, configuration)
        if let time = ReplayOptions.time(at, now: now) {
            request.from = time - 3_600_000
            request.to = time + 3_600_000
        }
        let subject = try subject()
        let (input, explanations) = try ReplayWork.perform(configuration, request) { session in
            let explanations = try session.explain(subject)
            return (session.input, explanations)
        }
        input.tell()
        let reports = explanations.map { ExplanationReport($0, configuration.topics, configuration.deepLinks) }
        Terminal.write(
            json ? try reports.map { try $0.json() }.joined() : reports.map(\.text).joined(separator: "\n"))
        let range = request.searched(input.selected, of: configuration.topics)
        guard !reports.isEmpty else { throw CommandFailure(.difference, "nothing of it is in \(range)") }
        Terminal.tell("searched \(range)")
    }

    private func subject() throws(CommandFailure) -> Explanation.Subject {
        if let messageID { return .message(id: messageID) }
        guard let deviceTokenFile else { return .events }
        let token = try TokenOptions.read(deviceTokenFile, of: "--device-token-file")
        return .device(tokenHash: SubscriptionKey.tokenHash(of: token))
    }
}
