import Foundation
import JSONReader
import NotificationPayload
import TestSupport
import Testing

@testable import Notifications

@Suite("notifications.deliveries")
struct DeliveryRecordTests {
    private static let device = String(repeating: "0a", count: 32)

    private func text(_ record: DeliveryRecord) -> String {
        var writer = ByteWriter()
        record.append(to: &writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func read(_ text: String) throws -> DeliveryRecord {
        var reader = JSONReader()
        return try Array(text.utf8).withUnsafeBytes { try DeliveryRecord(reader.parse($0)) }
    }

    private func error(_ text: String) -> String? {
        do {
            _ = try read(text)
            return nil
        } catch {
            return "\(error)"
        }
    }

    private var full: DeliveryRecord {
        var record = DeliveryRecord(
            .deadDevice, topic: "notifications.dispatch", partition: 3, offset: 4_711, messageID: "msg-1-a",
            device: Self.device, platform: .apns, attempts: 2)
        record.app = "com.example.shop"
        record.environment = .development
        record.status = 410
        record.reason = "Unregistered"
        record.providerID = "id-1"
        record.evidence = 1_700
        record.credential = "team \"1\""
        record.firstSentAt = 1_800
        record.lastSentAt = 1_900
        return record
    }

    @Test("the value, byte for byte: all members in their order, and without those that are unknown")
    func bytes() {
        #expect(
            text(full)
                == #"{"outcome":"dead_device","topic":"notifications.dispatch","partition":3,"offset":4711,"#
                + #""message_id":"msg-1-a","device":"\#(Self.device)","platform":"apns","app":"com.example.shop","#
                + #""environment":"development","status":410,"reason":"Unregistered","provider_id":"id-1","#
                + #""evidence":1700,"credential":"team \"1\"","attempts":2,"first_sent_at":1800,"#
                + #""last_sent_at":1900}"#)
        let bare = DeliveryRecord(
            .expired, topic: "d", partition: 0, offset: 0, messageID: "m", device: Self.device, platform: .fcm,
            attempts: 0)
        #expect(
            text(bare)
                == #"{"outcome":"expired","topic":"d","partition":0,"offset":0,"message_id":"m","#
                + #""device":"\#(Self.device)","platform":"fcm","attempts":0}"#)
    }

    @Test("every outcome, platform and environment is read back", arguments: DeliveryOutcome.allCases)
    func roundTrip(_ outcome: DeliveryOutcome) throws {
        for platform in Platform.allCases {
            for environment in PushEnvironment.allCases + [nil] as [PushEnvironment?] {
                var record = full
                record.outcome = outcome
                record.platform = platform
                record.environment = environment
                #expect(try read(text(record)) == record)
            }
        }
    }

    @Test("a missing or wrong member is an error that names it and what is allowed; an unknown one is ignored")
    func errors() throws {
        let good = text(full)
        #expect(try read(good.replacing(#"{"outcome""#, with: #"{"new":[1],"outcome""#)) == full)
        #expect(try read(good.replacing(#""reason":"Unregistered""#, with: #""reason":null"#)).reason == nil)
        #expect(error("[]") == "the value is not a JSON object")
        let cases = [
            (
                "\"dead_device\"", "\"lost\"",
                "outcome has another value; allowed is accepted, expired, dead_device, refused, gave_up, cancelled, superseded"
            ),
            (#""topic":"notifications.dispatch","#, "", "topic is missing; allowed is a string"),
            (
                #""partition":3"#, #""partition":-1"#,
                "partition has another value; allowed is an integer from 0 to 2147483647"
            ),
            (
                #""offset":4711"#, #""offset":"4711""#,
                "offset has another value; allowed is an integer from 0 to 9223372036854775807"
            ),
            (#""status":410"#, #""status":1000"#, "status has another value; allowed is an integer from 100 to 999"),
            ("\"development\"", "\"test\"", "environment has another value; allowed is production, development"),
            (Self.device, "0a", "device is not 64 hex digits"),
            (Self.device, String(repeating: "é", count: 32), "device is not 64 hex digits"),
            (
                #""evidence":1700"#, #""evidence":-1"#,
                "evidence has another value; allowed is an integer from 0 to 9223372036854775807"
            ),
        ]
        for (found, replacement, message) in cases {
            #expect(error(good.replacing(found, with: replacement)) == message)
        }
    }

    @Test("the schema has the same members, outcomes, platforms and environments, and its examples are read")
    func schema() throws {
        let text = try Page("Schemas/notifications.deliveries.value.schema.json").text()
        let schema = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let properties = try #require(schema["properties"] as? [String: [String: Any]])
        let names = try #require(
            try JSONSerialization.jsonObject(with: Data(self.text(full).utf8)) as? [String: Any]
        ).keys
        #expect(Set(properties.keys) == Set(names))
        #expect(properties["outcome"]?["enum"] as? [String] == DeliveryOutcome.allCases.map(\.rawValue))
        #expect(properties["platform"]?["enum"] as? [String] == Platform.allCases.map(\.rawValue))
        #expect(properties["environment"]?["enum"] as? [String] == PushEnvironment.allCases.map(\.rawValue))
        let examples = try #require(schema["examples"] as? [[String: Any]])
        #expect(examples.count == 3)
        for example in examples {
            let data = try JSONSerialization.data(withJSONObject: example)
            let record = try read(String(decoding: data, as: UTF8.self))
            let again = try JSONSerialization.jsonObject(with: Data(self.text(record).utf8)) as? NSDictionary
            #expect(again == example as NSDictionary)
        }
    }
}

@Suite("The metadata of a lane's offsets, and the note of a retry")
struct LaneOffsetTests {
    @Test("every part is read back, and the largest bitmap fits Kafka's 4,096 bytes")
    func roundTrip() throws {
        let full = [UInt8](repeating: 0xA5, count: LaneOffset.largestWindow / 8)
        for finished in [[], [1], [0, 0x80], full] {
            for sentBelow in [5, 4_711, .max] as [Int64] {
                let offset = LaneOffset(
                    offset: 5, partitions: .max, sentBelow: sentBelow, finished: finished)
                #expect(LaneOffset(offset: 5, metadata: offset.metadata) == offset)
                #expect(offset.metadata.utf8.count <= 2_800)
            }
        }
        let bare = LaneOffset(offset: 0, partitions: 12, sentBelow: 7)
        #expect(bare.metadata == "v2 n=12 s=7")
        #expect(LaneOffset(offset: 0, metadata: "v2 n=12 s=0 z=later d=AQ")?.finished == [1])
    }

    @Test("metadata that is not a lane's, or of an earlier version, is nil")
    func foreign() {
        let tooLong = String(repeating: "A", count: LaneOffset.largestWindow / 6 + 10)
        for text in [
            "", "v1 n=1 s=1", "v1 n=1 l=0123abcd c=1", "v2 n=1", "v2 n=0 s=1", "v2 s=1", "v2 n=1 s=-1",
            "v2 n=1 s=1 d=?",
            "v1 w=5 n=3 t=4", "v2 n=1 s=1 d", "v2 n=1 s=1 d=\(tooLong)", "v2 n=+1 s=1", "v2 n=2147483648 s=1",
            "v2 n=1 s=9223372036854775808",
        ] {
            #expect(LaneOffset(offset: 0, metadata: text) == nil, "\(text.prefix(40))")
        }
    }

    @Test("a retry's note is read back, and another text is none")
    func note() {
        var note = RetryNote(offset: 4_711, attempts: 2, used: 1_500)
        #expect(note.text == "v1 o=4711 a=2 u=1500" && RetryNote(note.text) == note)
        note.appendedAt = 5
        note.firstSentAt = 10
        note.lastSentAt = 20
        note.notBefore = 30
        #expect(note.text == "v1 o=4711 a=2 u=1500 w=5 f=10 t=20 b=30" && RetryNote(note.text + " z=1") == note)
        for text in [
            "", "v2 o=1 a=1 u=1", "v1 a=1 u=1", "v1 o=-1 a=1 u=1", "v1 o=1 a=x u=1", "v1 o=1 a=1 u", "v1 o=1 a=1",
        ] {
            #expect(RetryNote(text) == nil)
        }
    }

    @Test(
        "a note is none without its offset, attempts and time, which are digits and no sum of which overflows",
        arguments: [
            "o=-1", "o=+1", "o=9223372036854775808", "a=+1", "a=-1", "a=9223372036854775807", "u=9223372036854775807",
            "u=-1", "u=1.5", "f=",
        ])
    func foreignNumbers(_ word: String) {
        #expect(RetryNote("v1 o=1 a=1 u=1 \(word)") == nil)
    }

    @Test(
        "another word that cannot be read is as good as none: its push is sent all the same",
        arguments: [
            "w=-1", "f=-1", "t=-1", "b=-1", "f=x", "b=1.5", "t=+1", "f=9223372036854775807", "b=253402300800000",
            "s=99",
            "s=1000", "s=-1", "r=\u{7F}", "r=é", "r=\(String(repeating: "x", count: 65))",
        ])
    func foreignWords(_ word: String) {
        #expect(RetryNote("v1 o=1 a=1 u=1 \(word)") == RetryNote(offset: 1, attempts: 1, used: 1))
    }

    @Test("a note carries the last answer's status and reason; one that does not fit into a word is left out")
    func reason() {
        for reason in ["no_answer", "UNAVAILABLE", "=", "a=b", "\"\\~", String(repeating: "x", count: 64)] {
            let note = RetryNote(offset: 1, attempts: 1, used: 1, status: 503, reason: reason)
            #expect(note.text == "v1 o=1 a=1 u=1 s=503 r=\(reason)" && RetryNote(note.text) == note)
        }
        for reason in ["", "a b", "a\n", String(repeating: "x", count: 65)] {
            let note = RetryNote(offset: 1, attempts: 1, used: 1, reason: reason)
            #expect(note.text == "v1 o=1 a=1 u=1")
        }
    }
}
