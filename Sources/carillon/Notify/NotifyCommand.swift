import Arguments
import Foundation
import Pipeline

/// `carillon notify`
struct NotifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notify",
        abstract: "Ask the pipeline to notify users, places, channels or single devices.",
        discussion: """
            Writes one request to topic.requests, after the pipeline's own rules have accepted it. Before that it reads \
            the subscriptions and counts the devices; above 100 it asks for their number. With --yes it neither counts nor \
            asks. --dry-run shows the records that each provider would get, with a made-up token.
            """,
        examples: [
            (
                "carillon notify --audience user/17 --app-type NewBill --title Bill --body 23.40",
                "An app notification."
            ),
            (
                "carillon notify --audience channel/news --message message.json --expires-in 2h --collapse-key news",
                "A message from a file."
            ),
            (
                "carillon notify --audience user/17 --app-type Generic --title Sent --body Track "
                    + "--data order_type=food --data order_id=4711 --dry-run",
                "What each provider would get; the app opens a link."
            ),
            (
                "echo '{\"title\":\"Hello\"}' | carillon notify --audience user/17 --message - --yes --json",
                "From a script: no count, no question."
            ),
        ])

    /// The largest number of devices that needs no confirmation.
    private static let mostUnasked = 100

    @OptionGroup(title: "Request") var request: NotifyOptions
    @Flag(help: "Print the outcome as JSON.") var json: Bool
    @OptionGroup(title: "Confirmation") var confirmation: ConfirmOptions
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.checked(
            with: \.requests, "requests", so: "nothing reads requests", alsoFor: "carillon run",
            needsBroker: !confirmation.dryRun || confirmation.needsCount)
        try request.checkType(configuration.requests)
        let now = WallClock.now
        let draft = try request.draft(now: now, newID: UUID().uuidString.lowercased())
        let value = draft.encoded()
        var trial = try RequestTrial(configuration)
        let unsent = try RequestReach(try trial.verdict(value, now: now))
        let reach = confirmation.needsCount ? try count(draft, value, configuration, now: now) : nil
        if confirmation.dryRun {
            var writer = RecordLineWriter(
                descriptor: STDOUT_FILENO, topics: configuration.topics, explains: false)
            // What `carillon render` would write for one device of each provider.
            for platform in Platform.allCases {
                try trial.run(Array(draft.key.utf8), value, platform, now: now, into: &writer)
            }
            try writer.flush()
            let devices = reach.map { "It would reach \($0.text). " } ?? ""
            return Terminal.complain("\(devices)Nothing was sent.\n")
        }
        if let reach { try confirm(reach) }
        var writer = try TopicWriter(configuration.topics.requests, configuration)
        let position = try writer.writeAndLocate(key: draft.key, value: value)
        let outcome = NotifyOutcome(
            requestID: draft.id, messageID: unsent.messageID, topic: configuration.topics.requests,
            partition: position?.partition.partition, offset: position?.offset, devices: reach?.count)
        try Output.print(outcome, json: json)
        let topic = configuration.topics.requests
        if GroupCommits.areMissing(of: configuration.groupID, in: topic, configuration) {
            Terminal.warn(
                "warning: nobody reads \(topic): group \(configuration.groupID) has never committed an offset of it. "
                    + "The request waits for 'carillon run' with topic.requests=\(topic)")
        }
    }

    /// Counts the devices, and says so if there are none.
    private func count(
        _ draft: RequestDraft, _ value: [UInt8], _ configuration: PipelineConfiguration, now: WallTime
    ) throws -> RequestReach {
        let table = try SubscribedDevices.read(draft.audiences, configuration, now: now)
        var trial = try RequestTrial(configuration, table: table)
        let reach = try RequestReach(try trial.reach(value, now: now))
        if reach.count == 0 {
            let reason =
                reach.isStale
                ? "every device was last seen longer ago than subscriptions.max-age"
                : "no device is subscribed to \(draft.audiences.joined(separator: ", "))"
            Terminal.warn("\(reason): nobody is notified now")
        }
        return reach
    }

    private func confirm(_ reach: RequestReach) throws(CommandFailure) {
        if reach.count > Self.mostUnasked { Terminal.complain("\(reach.text)\n") }
        try confirmation.confirmation(of: .send, mostUnasked: Self.mostUnasked).judge(reach.count, of: "devices")
    }
}

/// What was written, and under which ids it can be found.
private struct NotifyOutcome: Report {
    var requestID: String
    var messageID: String
    var topic: String
    var partition: Int32?
    var offset: Int64?
    /// Nil if they were not counted.
    var devices: Int?

    var rows: [Row] {
        let record = topic + (partition.map { "/\($0)" } ?? "") + (offset.map { "/\($0)" } ?? "")
        return [.pair("request", requestID), .pair("message", messageID), .pair("record", record)]
            + (devices.map { [.pair("devices", ProgressLine.grouped($0))] } ?? [])
    }
}
