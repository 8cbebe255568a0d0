import Foundation
import NotificationPayload
import Testing

@testable import KafkaClient

/// `carillon notify` on a mock cluster with the topics of subscriptions and requests.
private struct NotifyTrial {
    static let silence: ClientLog.Sink = { _ in }
    let cluster: MockCluster
    static let requests = "notifications.requests"

    init() throws {
        cluster = try MockCluster()
        try cluster.createTopic("notifications.subscriptions", partitions: 4)
        try cluster.createTopic(Self.requests, partitions: 3)
    }

    func run(_ words: [String], input: String = "") throws -> CommandProcess {
        try .run(words + ["-b", cluster.bootstrapServers], input: input, environment: ["HOME": "/home/x"])
    }

    func notify(_ words: [String], input: String = "") throws -> CommandProcess {
        try run(["notify", "--set", "topic.requests=\(Self.requests)"] + words, input: input)
    }

    /// - Parameter lastSeen: of all of them.
    func subscribe(
        _ tokens: some Sequence<Int>, to audience: String, platform: String = "fcm",
        lastSeen: String = "2099-01-01T00:00:00Z"
    ) throws {
        let lines = tokens.map {
            #"{"audience":"\#(audience)","token":"\#(100_000 + $0)","platform":"\#(platform)","app":"com.example.shop","last_seen_at":"\#(lastSeen)"}"#
        }
        let result = try run(["subscriptions", "import", "-"], input: lines.joined(separator: "\n"))
        #expect(result.status == 0, "\(result.errors)")
    }

    func written() throws -> [ConsumerRecord] {
        var records: [ConsumerRecord] = []
        let settings = ["bootstrap.servers": cluster.bootstrapServers]
        try TopicReader.readAll(Self.requests, settings: settings, logger: Self.silence) { record, _ in
            records.append(record)
        }
        return records
    }
}

private let billWords = ["--app-type", "NewBill", "--title", "New bill", "--body", "23.40 €"]

/// A command line that is refused, and what it is told.
struct Refusal: Sendable, CustomTestStringConvertible {
    var words: [String]
    var text: String
    var testDescription: String { text }

    init(_ words: String..., says text: String) {
        self.words = words
        self.text = text
    }

    /// To user 17, with an app notification that is right.
    static func app(_ words: String..., says text: String) -> Refusal {
        var refusal = Refusal(says: text)
        refusal.words = ["--audience", "user/17"] + words + billWords
        return refusal
    }

    static let byTheRules: [Refusal] = [
        .app("--audience", "team/7", says: #"bad_request: audience[1] is "team/7"; allowed is place/<id>"#),
        Refusal("--audience", "u", "--app-type", "Generic", "--body", "b", "--title", "t", says: #"audience is "u""#),
        Refusal("--audience", "user/17", "--app-type", "NewBill", "--body", "b", says: "app.title is missing"),
        Refusal(
            "--audience", "user/17", "--app-type", "NewBill", "--title", "t", "--body", " ", says: "app.body is blank"),
        .app("--expires-at", "soon", says: #"expires_at is "soon"; allowed is an ISO 8601"#),
        .app(
            "--data", "bill_matched_via_banking_card=False",
            says: "conflicting_value: app.data.bill_matched_via_banking_card"),
        .app("--data", "aps=1", says: #""aps" in app.data is reserved for APNs"#),
        .app("--image-url", "ftp://x", says: "app.imageUrl"),
        .app("--expires-in", "0s", says: "the request has expired already"),
        .app("--expires-at", "2020-01-01T00:00:00Z", says: "the request has expired already"),
    ]

    static let ofOptions: [Refusal] = [
        Refusal("--app-type", "Generic", says: "--audience is missing"),
        Refusal("--audience", "user/17", says: "--app-type or --message is missing"),
        .app("--message", "m.json", says: "--app-type, --title, --body: an app notification"),
        .app("--data", "x", says: "--data x: it must be key=value"),
        .app("--data", "type=x", says: "--data type=x: the type is given with --app-type"),
        .app("--data", "a=1", "--data", "a=2", says: "--data a=2: a is given twice"),
        .app("--expires-in", "soon", says: "--expires-in soon is not allowed"),
        .app("--expires-in", "1h", "--expires-at", "x", says: "give one of them"),
        .app("--priority", "urgent", says: "--priority: 'urgent' is not allowed"),
        Refusal(
            "--audience", "user/17", "--message", "/nonexistent",
            says: "--message /nonexistent: the file cannot be read"),
    ]
}

@Suite("carillon notify") struct NotifyCommandTests {
    @Test("a request is written with its first audience as the key, and the outcome says where and under which ids")
    func write() throws {
        let trial = try NotifyTrial()
        try trial.subscribe([1], to: "user/17")
        let words =
            ["--audience", "user/17", "--audience", "channel/news", "--data", "bill_id=B=1", "--json"] + billWords
        for offset in 0..<2 {
            let result = try trial.notify(words)
            #expect(result.status == 0, "\(result.errors)")
            let outcome = try #require(PushValue(json: result.output))
            let record = try #require(try trial.written().last { $0.offset == Offset(Int64(offset)) })
            let partition = Murmur2.partition(of: Array("user/17".utf8), count: 3)
            #expect(record.key == Array("user/17".utf8) && record.partition == partition)
            #expect(outcome["topic"] == .string(NotifyTrial.requests))
            #expect(outcome["partition"]?.int == Int(partition), "\(result.output)")
            #expect(outcome["offset"]?.int == offset)
            #expect(outcome["devices"]?.int == 1)

            let value = try #require(PushValue(json: record.value ?? []))
            #expect(value["request_id"] == outcome["request_id"])
            #expect(value["audience"] == .array([.string("user/17"), .string("channel/news")]))
            #expect(value["app"]?["data"]?["bill_id"] == .string("B=1"))
            #expect(value["app"]?["data"]?["type"] == .string("NewBill"))
            let time = try #require(value["requested_at"]?.string)
            let milliseconds = try #require(try? Self.date(time))
            let prefix = "msg-\(Int64((milliseconds.timeIntervalSince1970 * 1_000).rounded()))-"
            #expect(outcome["message_id"]?.string?.hasPrefix(prefix) == true, "\(result.output)")
        }
        #expect(Set(try trial.written().map { $0.value ?? [] }).count == 2)
    }

    @Test("the message id is the one that the pipeline gives the record (docs/rules.md §6)")
    func messageID() throws {
        let trial = try NotifyTrial()
        let words = ["--audience", "user/17", "--request-id", "bills-2025-17", "--yes", "--json"] + billWords
        for _ in 0..<2 {
            let result = try trial.notify(words)
            #expect(PushValue(json: result.output)?["message_id"] == .string("msg-0-wd53ja28t"), "\(result.errors)")
        }
        let values = try trial.written().map(\.value)
        #expect(values.count == 2 && values[0] == values[1], "the same id again is the same request")
    }

    @Test("a device of several audiences counts once, and a stale one does not (docs/rules.md §8.2, §5.3 row 20)")
    func union() throws {
        let trial = try NotifyTrial()
        try trial.subscribe(0..<3, to: "user/17")
        try trial.subscribe(2..<5, to: "channel/news", platform: "fcm")
        try trial.subscribe(10..<12, to: "channel/news", platform: "apns")
        try trial.subscribe([20], to: "user/17", lastSeen: "2020-01-01T00:00:00Z")
        try trial.subscribe([30], to: "user/18")
        let both = try trial.notify(["--audience", "user/17", "--audience", "channel/news", "--dry-run"] + billWords)
        #expect(both.status == 0)
        #expect(both.errors == "It would reach 7 devices: 5 fcm, 2 apns. Nothing was sent.\n")
        let one = try trial.notify(["--audience", "user/18", "--dry-run"] + billWords)
        #expect(one.errors == "It would reach 1 device: 1 fcm. Nothing was sent.\n")
    }

    @Test("an unsubscribed device does not count, and an audience of nobody is told")
    func nobody() throws {
        let trial = try NotifyTrial()
        try trial.subscribe([1], to: "user/17")
        let listed = try trial.run(["subscriptions", "list", "--json"])
        let hash = try #require(PushValue(json: listed.output)?["token_sha256"]?.string)
        #expect(try trial.run(["unsubscribe", "--audience", "user/17", "--token-hash", hash]).status == 0)
        let result = try trial.notify(["--audience", "user/17", "--json"] + billWords)
        #expect(result.status == 0)
        #expect(result.errors.contains("no device is subscribed to user/17"))
        #expect(PushValue(json: result.output)?["devices"]?.int == 0)

        try trial.subscribe([2], to: "user/18", lastSeen: "2020-01-01T00:00:00Z")
        let stale = try trial.notify(["--audience", "user/18"] + billWords)
        #expect(stale.errors.contains("longer ago than subscriptions.max-age"))
    }

    @Test("above 100 devices it asks, and without a terminal it names --yes and writes nothing: 64")
    func confirmation() throws {
        let trial = try NotifyTrial()
        try trial.subscribe(0..<100, to: "user/17")
        #expect(try trial.notify(["--audience", "user/17"] + billWords, input: "100\n").status == 0)
        try trial.subscribe([100], to: "user/17")
        let asked = try trial.notify(["--audience", "user/17"] + billWords, input: "101\n")
        #expect(asked.status == 64)
        #expect(asked.errors.contains("101 devices: 101 fcm\n"))
        #expect(asked.errors.contains("which is 101: give --yes or --confirm 101; nothing was sent"))
        let limited = try trial.notify(["--audience", "user/17", "--yes", "--most", "100"] + billWords)
        #expect(limited.status == 78)
        #expect(limited.errors.contains("101 devices are more than --most allows, which is 100; nothing was sent"))
        #expect(try trial.written().count == 1)
        let unasked = try trial.notify(["--audience", "user/17", "--yes"] + billWords)
        #expect(unasked.status == 0)
        #expect(!unasked.output.contains("devices"))
        #expect(try trial.written().count == 2)
    }

    @Test(
        "what would be a dead letter is refused with its sentence, and nothing is written: 64",
        arguments: Refusal.byTheRules)
    func refused(_ refusal: Refusal) throws {
        let trial = try NotifyTrial()
        for more in [[], ["--yes"], ["--dry-run"]] {
            let result = try trial.notify(refusal.words + more)
            #expect(result.status == 64)
            #expect(result.errors.contains(refusal.text), "\(result.errors)")
            #expect(result.output.isEmpty)
        }
        #expect(try trial.written().isEmpty)
    }

    @Test("a request that is too large for the provider of one of its devices is refused with its size")
    func tooLarge() throws {
        let trial = try NotifyTrial()
        try trial.subscribe([1], to: "user/17")
        let words = ["--app-type", "Generic", "--title", "t", "--body", String(repeating: "x", count: 4_100)]
        let result = try trial.notify(["--audience", "user/17"] + words)
        #expect(result.status == 64)
        #expect(result.errors.contains("payload_too_large: the data and notification of an FCM message have"))
        // Nobody's devices are read: it is too large for those of every provider.
        let uncounted = try trial.notify(["--audience", "user/17", "--yes"] + words)
        #expect(uncounted.status == 64 && uncounted.errors.contains("payload_too_large"))
        #expect(try trial.written().isEmpty)
    }

    @Test("options that do not fit together are named: 64", arguments: Refusal.ofOptions)
    func usage(_ refusal: Refusal) throws {
        let result = try CommandProcess.run(
            ["notify", "--set", "topic.requests=r", "-b", "127.0.0.1:1"] + refusal.words,
            environment: ["HOME": "/home/x"])
        #expect(result.status == 64)
        #expect(result.errors.contains(refusal.text), "\(result.errors)")
    }

    @Test("without topic.requests nothing reads a request: 78, and the setting is named")
    func noTopic() throws {
        let words = ["notify", "--audience", "user/17", "--yes", "-b", "127.0.0.1:1"]
        let result = try CommandProcess.run(words + billWords, environment: ["HOME": "/home/x"])
        #expect(result.status == 78)
        #expect(result.errors.hasPrefix("carillon: topic.requests is not set"))
    }

    @Test("a message is document 5's object, from a file or standard input; no other text is put into the request")
    func message() throws {
        let trial = try NotifyTrial()
        let message = #"{"title":"Hello","badge":3,"extras":{"n":1.50,"none":null}}"#
        let words = ["--audience", "user/17", "--message", "-", "--yes", "--json"]
        let result = try trial.notify(words + ["--collapse-key", "k", "--priority", "normal"], input: message + "\n")
        #expect(result.status == 0, "\(result.errors)")
        let text = String(decoding: try #require(try trial.written().first?.value), as: UTF8.self)
        #expect(text.hasSuffix(#","collapse_key":"k","priority":"normal","message":\#(message)}"#), "\(text)")
        for wrong in ["", "[]", "hello", #"{"title":"a"},"audience":"user/18""#, #"{"title":"a"}{}"#] {
            let refused = try trial.notify(words, input: wrong)
            #expect(refused.status == 64, "\(wrong)")
            #expect(refused.errors.contains("--message -: it must hold one JSON object"), "\(refused.errors)")
        }
        let unknown = try trial.notify(words, input: #"{"title":"a","colapseKey":"b"}"#)
        #expect(unknown.status == 64)
        #expect(unknown.errors.contains(#""colapseKey" is not a member of message; allowed are title, body"#))
        #expect(try trial.written().count == 1)
    }

    @Test("--dry-run shows each provider's message with a made-up token, and writes nothing")
    func dryRun() throws {
        let trial = try NotifyTrial()
        try trial.subscribe([1], to: "user/17")
        let link = ["--data", "order_type=food", "--data", "order_id=4711"]
        let words = ["--audience", "user/17", "--dry-run"] + billWords + link
        let shown = try trial.notify(words)
        #expect(shown.status == 0, "\(shown.errors)")
        let records = shown.output.split(separator: "\n").compactMap { PushValue(json: String($0)) }
        let values = records.compactMap { $0["payload"]?.string.flatMap { PushValue(json: $0) } }
        #expect(records.map { $0["topic"] } == [.string("notifications.dispatch"), .string("notifications.dispatch")])
        #expect(values.first?["message"]?["notification"]?["title"] == .string("New bill"))
        #expect(values.first?["message"]?["data"]?["order_type"] == .string("food"))
        #expect(values.last?["payload"]?["aps"]?["alert"]?["title"] == .string("New bill"))
        #expect(!shown.output.contains("100001"), "a real token is shown")
        #expect(try trial.written().isEmpty)

        let unread = try CommandProcess.run(
            ["notify", "--set", "topic.requests=r", "--yes"] + words, environment: ["HOME": "/home/x"])
        #expect(unread.status == 0, "with --yes no broker is needed: \(unread.errors)")
        #expect(unread.errors == "Nothing was sent.\n")
        #expect(unread.output.split(separator: "\n").count == 2)
        let limited = try CommandProcess.run(
            ["notify", "--set", "topic.requests=r", "--set", "requests.apps=com.example.shop", "--yes"] + words,
            environment: ["HOME": "/home/x"])
        #expect(limited.output.split(separator: "\n").count == 2, "the device has an app that requests may reach")
    }

    @Test("--expires-in counts from now")
    func expiry() throws {
        let trial = try NotifyTrial()
        let before = Date.now
        _ = try trial.notify(["--audience", "user/17", "--expires-in", "2h", "--yes"] + billWords)
        let value = try #require(try trial.written().first?.value)
        let text = try #require(PushValue(json: value)?["expires_at"]?.string)
        let time = try Self.date(text)
        #expect((7_199...7_300).contains(time.timeIntervalSince(before)))
    }

    private static func date(_ text: String) throws -> Date {
        try Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text)
    }
}
