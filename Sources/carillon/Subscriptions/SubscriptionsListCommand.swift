import Arguments
import Foundation
import KafkaClient
import Pipeline

/// `carillon subscriptions list`
struct SubscriptionsListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the subscriptions; of a token only its hash is shown.",
        discussion:
            "Reads the topic from its beginning, so that it shows what a pipeline that starts now would use. Records "
            + "in a wrong partition have no effect, and are listed by themselves.",
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
        var states: [SubscriptionKey: KeyState] = [:]
        let malformed = try SubscriptionsTopic(configuration: configuration).read {
            audience == nil || audience == $0.audience
        } take: { record, key, partitions in
            let bytes = record.key ?? []
            let isPlaced = record.partition == Murmur2.partition(of: bytes, count: Int32(partitions))
            if isPlaced { found[key] = SubscriptionRow(record, key).flatMap { $0.matches(platform, app) ? $0 : nil } }
            // Of nearly all keys there is nothing to remember.
            guard !isPlaced || states[key] != nil else { return }
            states[key, default: KeyState(key: bytes, partitions: partitions)].note(record)
        }
        let misplaced = states.flatMap { key, state in
            state.misplaced.map { MisplacedRow(key, $0, home: state.home, isBoth: found[key] != nil) }
        }
        .filter { $0.matches(platform, app) }
        .sorted { ($0.audience, $0.tokenSHA256, $0.partition) < ($1.audience, $1.tokenSHA256, $1.partition) }
        let rows = found.sorted { $0.key < $1.key }.map(\.value)
        try Output.print(lines: rows, json: json, footer: ProgressLine.counted(rows.count, "subscription"))
        if !misplaced.isEmpty {
            if !json { Terminal.write("\n") }
            try Output.print(
                lines: misplaced, json: json,
                footer: ProgressLine.counted(misplaced.count, "misplaced record")
                    + " without effect: 'carillon subscriptions mend' moves what is in a wrong partition")
        }
        guard let first = malformed.first else { return }
        Terminal.warn(
            "skipped \(ProgressLine.counted(malformed.count, "malformed record")): \(Self.list(malformed))")
        Terminal.complain(
            "Look at one: kcat -C -t \(configuration.topics.subscriptions) -p \(first.partition) -o \(first.offset) "
                + "-c 1 -f '%k\\n'\n")
    }

    /// `partition 3 offset 17, partition 5 offset 2, and 12 more`
    private static func list(_ malformed: [SubscriptionsTopic.Malformed]) -> String {
        let shown = malformed.prefix(10).map { "partition \($0.partition) offset \($0.offset)" }
        let rest = malformed.count - shown.count
        return shown.joined(separator: ", ") + (rest > 0 ? ", and \(ProgressLine.grouped(rest)) more" : "")
    }
}

/// A subscription in its partition. Its members are what is shown: everything except the token.
private struct SubscriptionRow: TableRow {
    var audience: String
    var tokenSHA256: String
    var platform: String
    var app: String
    var environment: String
    var locale: String?
    var lastSeenAt: WallTime?
    var partition: Int32

    static let heading = ["AUDIENCE", "PLATFORM", "APP", "ENVIRONMENT", "LAST SEEN", "TOKEN HASH"]

    var cells: [String] {
        [audience, platform, app, environment, lastSeenAt?.description ?? "-", tokenSHA256]
    }

    /// Nil for an unsubscription.
    init?(_ record: ConsumerRecord, _ key: SubscriptionKey) {
        guard let value = record.value, let subscription = try? Subscription.decode(value: value) else { return nil }
        audience = subscription.audience
        tokenSHA256 = key.tokenHash
        platform = subscription.platform.rawValue
        app = subscription.app
        environment = subscription.environment.rawValue
        locale = subscription.locale
        lastSeenAt = subscription.lastSeenAt
        partition = record.partition
    }

    func matches(_ platform: Platform?, _ app: String?) -> Bool {
        (platform == nil || platform?.rawValue == self.platform) && (app == nil || app == self.app)
    }
}

/// A subscription or an unsubscription in a wrong partition, where it has no effect.
private struct MisplacedRow: TableRow {
    var audience: String
    var tokenSHA256: String
    var platform: String?
    var app: String?
    var partition: Int32
    /// The partition of its key, and whether the device is subscribed there.
    var belongsIn: Int32
    var isSubscribed: Bool
    /// Whether it is a null.
    var unsubscribes: Bool

    static let heading = ["AUDIENCE", "RECORD", "PARTITION", "BELONGS IN", "THERE", "TOKEN HASH"]

    var cells: [String] {
        [
            audience, unsubscribes ? "unsubscription" : "subscription", "\(partition)", "\(belongsIn)",
            isSubscribed ? "subscribed" : "nothing", tokenSHA256,
        ]
    }

    init(_ key: SubscriptionKey, _ said: KeyState.Said, home: Int32, isBoth: Bool) {
        let subscription = said.value.flatMap { try? Subscription.decode(value: $0) }
        audience = key.audience
        tokenSHA256 = key.tokenHash
        platform = subscription?.platform.rawValue
        app = subscription?.app
        partition = said.partition
        belongsIn = home
        isSubscribed = isBoth
        unsubscribes = said.value == nil
    }

    /// An unsubscription has neither.
    func matches(_ platform: Platform?, _ app: String?) -> Bool {
        unsubscribes || (platform == nil || platform?.rawValue == self.platform) && (app == nil || app == self.app)
    }
}
