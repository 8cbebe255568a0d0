import Arguments
import Events
import FanOut
import Foundation
import KafkaClient
import Pipeline
import Subscriptions

/// `carillon subscriptions list`
struct SubscriptionsListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the subscriptions; of a token only its hash is shown.",
        discussion: "Reads the topic from its beginning, so that it shows what a pipeline that starts now would use.",
        examples: [
            ("carillon subscriptions list -b localhost:9092", "All of them."),
            ("carillon subscriptions list --audience place/42 --json", "Those of a place, as JSON lines."),
        ])

    @Option(help: "Only this audience.", valueName: "audience") var audience: String?
    @Option(help: "Only this provider.") var platform: Platform?
    @Option(help: "Only this app.", valueName: "id") var app: String?
    @Flag(help: "Print JSON lines.") var json: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.checked()
        var found: [SubscriptionKey: SubscriptionRow] = [:]
        var malformed = 0
        try TopicReader.readAll(
            configuration.topics.subscriptions, settings: configuration.kafka,
            logger: configuration.clientSink
        ) { record in
            guard let key = SubscriptionKey(record.key) else {
                malformed += 1
                return
            }
            guard audience == nil || audience == key.audience else { return }
            guard let value = record.value else {
                found[key] = nil
                return
            }
            guard let row = SubscriptionRow(key: record.key ?? [], hash: key.tokenHash, value: value) else {
                malformed += 1
                return
            }
            found[key] = row.matches(platform, app) ? row : nil
        }
        Terminal.write(try text(found.sorted { $0.key < $1.key }.map(\.value)))
        if malformed > 0 { Terminal.complain("carillon: \(malformed) records are no subscriptions and were skipped\n") }
    }

    private func text(_ rows: [SubscriptionRow]) throws -> String {
        if json { return try rows.map { try JSONOutput.text($0) }.joined() }
        var table = TextTable(["AUDIENCE", "PLATFORM", "APP", "ENVIRONMENT", "LAST SEEN", "TOKEN HASH"])
        for row in rows {
            table.append([
                row.audience, row.platform, row.app, row.environment, row.lastSeenAt ?? "-", row.tokenSHA256,
            ])
        }
        return table.text + "\(rows.count) subscriptions\n"
    }
}

/// The members of a subscription that are shown: everything except the token.
private struct SubscriptionRow: Encodable {
    var audience: String
    var tokenSHA256: String
    var platform: String
    var app: String
    var environment: String
    var locale: String?
    var lastSeenAt: String?

    init?(key: [UInt8], hash: String, value: [UInt8]) {
        guard let subscription = try? Subscription.decode(key: key, value: value) else { return nil }
        audience = subscription.audience
        tokenSHA256 = hash
        platform = subscription.platform.rawValue
        app = subscription.app
        environment = subscription.environment.rawValue
        locale = subscription.locale
        lastSeenAt = subscription.lastSeenAt.map { TimeText.iso8601($0.milliseconds) }
    }

    func matches(_ platform: Platform?, _ app: String?) -> Bool {
        (platform == nil || platform?.rawValue == self.platform) && (app == nil || app == self.app)
    }
}
