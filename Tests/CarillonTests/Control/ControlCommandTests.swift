import Foundation
import NotificationPayload
import Testing

@testable import KafkaClient

@Suite("carillon cancel and carillon deliver pause") struct ControlCommandTests {
    private static let topic = "notifications.control"
    private static let commands = [
        ["cancel", "r1"], ["deliver", "pause", "fcm", "--why", "w"], ["deliver", "resume", "fcm"],
        ["deliver", "paused"],
    ]

    private func run(_ words: [String], at address: String = "127.0.0.1:1", topic: String? = topic) throws
        -> CommandProcess
    {
        let setting = topic.map { ["--set", "topic.control=\($0)"] } ?? []
        return try .run(words + setting + ["-b", address], environment: ["HOME": "/home/x"])
    }

    @Test("a cancel and a pause are written under their keys, a pause is listed with who and why, and resumed once")
    func written() throws {
        let cluster = try MockCluster()
        try cluster.createTopic(Self.topic, partitions: 1)
        func carillon(_ words: String...) throws -> CommandProcess {
            try run(words, at: cluster.bootstrapServers)
        }
        let cancelled = try carillon("cancel", " bills/7 ", "--why", "wrong \"amounts\"")
        #expect(cancelled.status == 0 && cancelled.output.contains("cancelled"), "\(cancelled.errors)")
        let paused = try carillon("deliver", "pause", "apns", "--credential", "staff", "--why", "key leaked", "--json")
        let outcome = try #require(PushValue(json: paused.output), "\(paused.errors)")
        #expect(outcome["paused"]?.text == "true" && outcome["credential"]?.string == "staff")
        let list = try carillon("deliver", "paused", "--json")
        let pause = try #require(PushValue(json: list.output), "\(list.errors)")
        #expect(pause["provider"]?.string == "apns" && pause["credential"]?.string == "staff")
        #expect(pause["why"]?.string == "key leaked" && pause["by"]?.string?.contains("@") == true)
        let other = try carillon("deliver", "resume", "apns")
        #expect(other.status == 1 && other.errors.contains("apns is not paused; paused is apns/staff"))
        let resumed = try carillon("deliver", "resume", "apns", "--credential", "staff")
        #expect(resumed.status == 0 && resumed.output.hasPrefix("resumed apns/staff, which was paused at "))
        #expect(try carillon("deliver", "paused").output.hasSuffix("0 pauses\n"))
        var records: [ConsumerRecord] = []
        try TopicReader.readAll(
            Self.topic, settings: ["bootstrap.servers": cluster.bootstrapServers], logger: { _ in },
            take: { record, _ in records.append(record) })
        #expect(
            records.map { String(decoding: $0.key ?? [], as: UTF8.self) }
                == ["cancel/bills/7", "pause/apns/staff", "pause/apns/staff"])
        #expect(records.map { $0.value == nil } == [false, false, true])
    }

    @Test("without topic.control no sender can be told: 78, and the setting is named")
    func noTopic() throws {
        for words in Self.commands {
            let result = try run(words, topic: nil)
            #expect(result.status == 78 && result.errors.hasPrefix("carillon: topic.control is not set"))
        }
    }

    @Test("a blank id, a reason that is too long, another provider and a credential that is none are 64, and said")
    func usage() throws {
        let list = FileManager.default.temporaryDirectory.appending(path: "control-\(UUID()).json")
        defer { try? FileManager.default.removeItem(at: list) }
        let credential = #"[{"name":"shop","provider":"fcm","token_file":"t","project_id":"p"}]"#
        try Data(credential.utf8).write(to: list)
        let long = String(repeating: "x", count: 1_025)
        for (words, sentence) in [
            (["cancel", " "], "the id is blank"), (["cancel", "r", "--why", long], "--why has 1025 bytes"),
            (["deliver", "pause", "fcm", "--why", long], "--why has 1025 bytes"),
            (["deliver", "pause", "fcm"], "--why"), (["deliver", "pause", "sms", "--why", "w"], "sms"),
            (
                [
                    "deliver", "pause", "fcm", "--credential", "ship", "--why", "w", "--set",
                    "delivery.credentials=@\(list.path)",
                ], "--credential 'ship' is none of fcm's in delivery.credentials; allowed are shop"
            ),
        ] {
            let result = try run(words)
            #expect(result.status == 64 && result.errors.contains(sentence), "\(words): \(result.errors)")
        }
    }
}
