import Foundation
import NotificationPayload
import Testing

@testable import KafkaClient

/// `carillon broadcast` on a mock cluster with the topics of subscriptions, broadcasts and their journal.
private struct BroadcastTrial {
    static let silence: ClientLog.Sink = { _ in }
    static let topic = "notifications.broadcasts"
    let cluster: MockCluster

    init(partitions: Int = 1) throws {
        cluster = try MockCluster()
        try cluster.createTopic("notifications.subscriptions", partitions: 4)
        try cluster.createTopic(Self.topic, partitions: partitions)
        try cluster.createTopic("\(Self.topic).journal", partitions: 1)
    }

    func run(_ words: [String], input: String = "") throws -> CommandProcess {
        try .run(words + ["-b", cluster.bootstrapServers], input: input, environment: ["HOME": "/home/x"])
    }

    func broadcast(_ words: String..., input: String = "") throws -> CommandProcess {
        try run(["broadcast"] + words + ["--set", "topic.broadcasts=\(Self.topic)"], input: input)
    }

    func subscribe(_ tokens: Range<Int>, to audience: String, platform: String, locale: String) throws {
        let lines = tokens.map {
            #"{"audience":"\#(audience)","token":"\#(100_000 + $0)","platform":"\#(platform)","app":"a","locale":"\#(locale)"}"#
        }
        let result = try run(["subscriptions", "import", "-"], input: lines.joined(separator: "\n"))
        #expect(result.status == 0, "\(result.errors)")
    }

    func written() throws -> [ConsumerRecord] {
        var records: [ConsumerRecord] = []
        let settings = ["bootstrap.servers": cluster.bootstrapServers]
        try TopicReader.readAll(Self.topic, settings: settings, logger: Self.silence) { record, _ in
            records.append(record)
        }
        return records
    }
}

/// A display broadcast in two languages; members replace those before them.
private func document(_ members: String = "") -> String {
    let fields = ["en", "hi"].map { #"{"language":"\#($0)","title":"t","msg":"m"}"# }.joined(separator: ",")
    let more = members.isEmpty ? "" : ",\(members)"
    return
        #"{"actiontype":"display","notificationtype":"downtime","notificationid":"1235","expiry":"3600000millis","fields":[\#(fields)]\#(more)}"#
}

@Suite("carillon broadcast") struct BroadcastCommandTests {
    @Test("a broadcast is written with its id as the key and the time of its publication, and the outcome says where")
    func send() throws {
        let trial = try BroadcastTrial()
        let result = try trial.broadcast("send", "-", "--yes", "--json", input: document())
        #expect(result.status == 0, "\(result.errors)")
        let outcome = try #require(PushValue(json: result.output))
        #expect(outcome["id"] == .string("1235") && outcome["audience"] == .string("channel/General"))
        #expect(outcome["record"] == .string("notifications.broadcasts/0/0"))
        #expect(outcome["devices"] == nil && outcome["replaces"] == nil)
        let record = try #require(try trial.written().first)
        #expect(record.key == Array("1235".utf8))
        let time = try #require(PushValue(json: record.value ?? [])?["published_at"]?.string)
        #expect(outcome["published_at"] == .string(time))
        let milliseconds = try Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(time)
        let prefix = "msg-\(Int64((milliseconds.timeIntervalSince1970 * 1_000).rounded()))-"
        #expect(outcome["message_id"]?.string?.hasPrefix(prefix) == true, "\(result.output)")
    }

    @Test("the plan counts devices by language and provider; --dry-run writes nothing")
    func plan() throws {
        let trial = try BroadcastTrial()
        try trial.subscribe(0..<3, to: "channel/General", platform: "fcm", locale: "hi-IN")
        try trial.subscribe(10..<12, to: "channel/General", platform: "apns", locale: "fr")
        try trial.subscribe(20..<25, to: "channel/beta", platform: "fcm", locale: "en")
        let shown = try trial.broadcast("send", "-", "--dry-run", input: document())
        #expect(shown.status == 0 && shown.errors == "Nothing was sent.\n", "\(shown.errors)")
        #expect(shown.output.contains("devices    5: 3 fcm, 2 apns\n  en       2: 2 apns\n  hi       3: 3 fcm\n"))
        let json = try trial.broadcast("send", "-", "--dry-run", "--json", input: document())
        #expect(PushValue(json: json.output)?["devices"]?.int == 5)
        #expect(PushValue(json: json.output)?["devices_by_language"]?["hi"]?.int == 3, "\(json.output)")
        #expect(try trial.written().isEmpty)
    }

    @Test("without a terminal it names --yes and writes nothing, however few devices there are: 64")
    func confirmation() throws {
        let trial = try BroadcastTrial()
        let asked = try trial.broadcast("send", "-", input: document())
        #expect(asked.status == 64)
        #expect(asked.errors.contains("devices    0\n"))
        #expect(asked.errors.contains("the number of devices, which is 0: give --yes or --confirm 0; nothing was sent"))
        #expect(try trial.written().isEmpty)
    }

    @Test("what would be a dead letter, or has expired, is refused with its sentence, and nothing is written: 64")
    func refused() throws {
        let trial = try BroadcastTrial()
        let long = String(repeating: "x", count: 5_000)
        for (members, sentence) in [
            (#""expiry":34646"#, "the broadcast would be a dead letter, bad_request: expiry is 34646; allowed is"),
            (#""notificationid":null"#, "bad_request: notificationid is missing"),
            (#""audience":"place/7""#, "allowed is one channel/<id>"),
            (#""fields":[{"language":"en","title":"t","msg":"\#(long)"}]"#, "payload_too_large: "),
            (
                #""published_at":"2020-01-01T00:00:00Z""#,
                "the broadcast has expired already, at 2020-01-01T01:00:00.000Z"
            ),
        ] {
            for more in ["--yes", "--dry-run"] {
                let result = try trial.broadcast("send", "-", more, input: document(members))
                #expect(result.status == 64)
                #expect(result.errors.contains(sentence), "\(result.errors)")
                #expect(result.output.isEmpty)
            }
        }
        let other = try trial.broadcast("send", "-", "--yes", input: "[]")
        #expect(
            other.status == 64 && other.errors.contains("standard input: it must hold one broadcast as a JSON object"))
        let missing = try trial.broadcast("send", "/nonexistent", "--yes")
        #expect(missing.status == 64 && missing.errors.contains("/nonexistent: the file cannot be read"))
        #expect(try trial.written().isEmpty)
    }

    @Test("a broadcast that replaces a live one says whether it is shown again")
    func replace() throws {
        let trial = try BroadcastTrial()
        let time = #""published_at":"2099-01-01T00:00:00Z""#
        #expect(try trial.broadcast("send", "-", "--yes", input: document(time)).status == 0)
        let same = try trial.broadcast("send", "-", "--dry-run", input: document(time))
        #expect(same.output.contains("the same message id: it is sent again"), "\(same.output)")
        let other = try trial.broadcast("send", "-", "--dry-run", input: document())
        #expect(other.output.contains("another message id: it is shown again"))
        let another = try trial.broadcast(
            "send", "-", "--dry-run", input: document(#""notificationid":"1236""#))
        #expect(!another.output.contains("replaces"))
    }

    @Test("a broadcast is cancelled once, by a record without a value; it is listed until then")
    func cancel() throws {
        let trial = try BroadcastTrial()
        #expect(try trial.broadcast("send", "-", "--yes", input: document()).status == 0)
        let listed = try trial.broadcast("list")
        #expect(listed.status == 0, "\(listed.errors)")
        #expect(listed.output.contains("1235  channel/General  display, downtime"))
        #expect(listed.output.hasSuffix("  waiting\n1 broadcast\n"))

        let asked = try trial.broadcast("cancel", "1235")
        #expect(asked.status == 64, "\(asked.errors)")
        #expect(asked.errors.contains("partitions    0 of 4 done, 4 waiting\n"))
        #expect(
            asked.errors.contains(
                "devices that it has reached, which is 0: give --yes or --confirm 0; nothing was cancelled"))
        let shown = try trial.broadcast("cancel", "1235", "--dry-run")
        #expect(shown.status == 0 && shown.errors == "Nothing was cancelled.\n")
        #expect(try trial.written().count == 1)

        let cancelled = try trial.broadcast("cancel", "1235", "--yes")
        #expect(cancelled.status == 0, "\(cancelled.errors)")
        #expect(cancelled.output == "cancelled 1235: it had reached 0 devices, 0 of 4 partitions\n")
        let record = try #require(try trial.written().last)
        #expect(record.key == Array("1235".utf8) && record.value == nil)
        #expect(try trial.broadcast("list").output.hasSuffix("0 broadcasts\n"))
        let all = try trial.broadcast("list", "--all", "--json")
        #expect(PushValue(json: all.output)?["state"] == .string("cancelled"), "\(all.output)")

        let again = try trial.broadcast("cancel", "1235", "--yes")
        #expect(again.status == 0 && again.output == "The broadcast 1235 is cancelled already.\n")
        #expect(try trial.written().count == 2)
    }

    @Test("an unknown id is refused: 64")
    func unknown() throws {
        let trial = try BroadcastTrial()
        for command in ["cancel", "status"] {
            let result = try trial.broadcast(command, "7")
            #expect(result.status == 64)
            #expect(result.errors.contains("notifications.broadcasts has no broadcast with the notificationid 7"))
        }
        #expect(try trial.written().isEmpty)
    }

    @Test("what does not go with explain --broadcast is named: 64")
    func explainUsage() throws {
        for (words, sentence) in [
            ([], "--broadcast: give --device-token-file"),
            (["--device-token-file", "f", "--order", "1"], "--broadcast cannot be used with --order"),
            (["--device-token-file", "f", "--at", "2026-11-21T14:00:00Z"], "--broadcast cannot be used with --order"),
        ] {
            let result = try CommandProcess.run(
                ["explain", "--broadcast", "1", "-b", "127.0.0.1:1"] + words, environment: ["HOME": "/home/x"])
            #expect(result.status == 64 && result.errors.contains(sentence), "\(result.errors)")
        }
    }

    @Test("without topic.broadcasts nothing reads a broadcast: 78, and the setting is named")
    func noTopic() throws {
        for words in [["send", "-"], ["cancel", "1"], ["list"], ["status", "1"]] {
            let result = try CommandProcess.run(
                ["broadcast"] + words + ["-b", "127.0.0.1:1"], environment: ["HOME": "/home/x"])
            #expect(result.status == 78)
            #expect(result.errors.hasPrefix("carillon: topic.broadcasts is not set"))
        }
    }

    @Test("a topic with several partitions has no order: 78")
    func partitions() throws {
        let trial = try BroadcastTrial(partitions: 3)
        let result = try trial.broadcast("list")
        #expect(result.status == 78, "\(result.output)")
        #expect(result.errors.contains("notifications.broadcasts has 3 partitions"))
    }
}
