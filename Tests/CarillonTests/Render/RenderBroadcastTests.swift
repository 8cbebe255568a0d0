import Foundation
import NotificationPayload
import TestSupport
import Testing

@Suite("carillon render of broadcasts")
struct RenderBroadcastTests {
    private static let subscriptions = [
        #"{"audience":"channel/General","token":"made-up-token-1","platform":"fcm","app":"a","locale":"de-AT"}"#,
        #"{"audience":"channel/General","token":"0a1b2c3d","platform":"apns","app":"a","locale":"en"}"#,
        #"{"audience":"channel/beta","token":"made-up-token-2","platform":"fcm","app":"a"}"#,
        #"{"audience":"channel/old","token":"made-up-token-3","platform":"fcm","app":"a","last_seen_at":"2020-01-01T00:00:00Z"}"#,
        #"{"audience":"place/42","token":"made-up-token-4","platform":"fcm","app":"a"}"#,
    ]

    private func broadcast(_ members: String = "") -> String {
        let fields =
            #"[{"language":"en","title":"Hello","msg":"World"},{"language":"de","title":"Hallo","msg":"Welt"}]"#
        let more = members.isEmpty ? "" : "," + members
        return
            #"{"actiontype":"display","notificationtype":"general","notificationid":"1235","expiry":"60000millis","published_at":1751875337000,"fields":\#(fields)\#(more)}"#
    }

    /// A line of `kcat -J`.
    private func line(_ value: String?, key: String?, timestamp: Int64 = 1_751_875_337_000, offset: Int = 7) -> String {
        let key = key.map { PushValue.string($0).json } ?? "null"
        let value = value.map { PushValue.string($0).json } ?? "null"
        return
            #"{"topic":"notifications.broadcasts","partition":0,"offset":\#(offset),"ts":\#(timestamp),"key":\#(key),"payload":\#(value)}"#
    }

    private func render(_ lines: [String], _ arguments: String...) throws -> [PushValue] {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let file = folder.path + "/subscriptions.jsonl"
        try Data(Self.subscriptions.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: file))
        let result = try withExtendedLifetime(folder) {
            try CommandProcess.run(
                ["render", "--subscriptions", file, "--set", "topic.broadcasts=notifications.broadcasts"] + arguments,
                input: lines.joined(separator: "\n"))
        }
        #expect(result.status == 0, "\(result.errors)")
        return result.output.split(separator: "\n").compactMap { PushValue(json: String($0)) }
    }

    private func message(_ record: PushValue) -> PushValue? {
        record["payload"]?.string.flatMap { PushValue(json: $0) }
    }

    @Test("each device of the channel has one record, in its language, and the same lines give the same bytes")
    func devices() throws {
        let records = try render([line(broadcast(), key: "1235")])
        #expect(records.count == 2)
        #expect(records.allSatisfy { $0["topic"] == .string("notifications.dispatch.broadcasts") })
        let fcm = try #require(records.compactMap(message).first { $0["message"] != nil }?["message"])
        let apns = try #require(records.compactMap(message).first { $0["payload"] != nil }?["payload"])
        #expect(fcm["apns"]?["payload"]?["aps"]?["alert"]?["title"] == .string("Hallo"))
        #expect(apns["aps"]?["alert"]?["title"] == .string("Hello"))
        #expect(try render([line(broadcast(), key: "1235")]) == records)
        let headers = records[0]["headers"]?.array ?? []
        #expect(headers.contains(.string("notifications.broadcasts/0/7")))
        #expect(headers.contains(.string("1751875397000")))
    }

    @Test("bare values of --topic have the key that they should have, and broadcasts.language decides their form")
    func bare() throws {
        let records = try render(
            [broadcast(#""channel":"beta""#)], "--topic", "notifications.broadcasts", "--set",
            "broadcasts.language=device")
        #expect(records.count == 1)
        #expect(message(records[0])?["message"]?["notification"]?["title"] == .string("Hello"))
        #expect(try render([broadcast()], "--topic", "b", "--set", "topic.broadcasts=b").count == 2)
    }

    @Test("a dead letter keeps key, value and headers, and says why")
    func deadLetters() throws {
        let records = try render([line(broadcast(), key: "7"), line("[]", key: "1235")])
        #expect(records.map { $0["topic"]?.string } == ["notifications.dead-letters", "notifications.dead-letters"])
        #expect(records[0]["key"] == .string("7") && records[0]["payload"] == .string(broadcast()))
        let headers = records[0]["headers"]?.array ?? []
        #expect(headers.starts(with: [.string("x-error-code"), .string("bad_request")]))
        #expect(headers.contains(.string("notifications.broadcasts")))
        #expect(headers.last == .string(#"the key is "7"; allowed is the notificationid, "1235""#))
        let large = broadcast(#""poster":"https://\#(String(repeating: "x", count: 5_000))""#)
        let tooLarge = try render([line(large, key: "1235")])
        #expect(tooLarge.first?["headers"]?.array?.contains(.string("payload_too_large")) == true)
    }

    @Test("with --explain a line says why nobody gets it, and what was cancelled")
    func explain() throws {
        let lines = [
            line(broadcast(#""audience":"channel/empty""#), key: "1235"),
            line(broadcast(#""audience":"channel/old""#), key: "1235"),
            line(broadcast(), key: "1235", timestamp: 1_751_875_397_000),
            line(nil, key: "1235", offset: 9),
        ]
        let found = try render(lines, "--explain")
        let reasons = found.map { $0["suppressed"]?.string ?? "cancelled \($0["cancelled"]?.string ?? "nothing")" }
        #expect(reasons == ["no_subscriber", "stale_token", "expired", "cancelled 1235"])
        #expect(found.last?["explain"]?["source"] == .string("notifications.broadcasts/0/9"))
        #expect(try render(lines).isEmpty)
        #expect(try render([line(broadcast(), key: "1235", timestamp: 1_751_875_396_999)]).count == 2)
        #expect(try render([line(broadcast(), key: "1235")], "--explain").allSatisfy { $0["explain"] != nil })
    }
}
