import Digests
import Foundation
import KafkaClient
import TestSupport
import Testing

@testable import Notifications
@testable import Pipeline

@Suite("An entry of the journal")
struct JournalEntryTests {
    private static func partition(_ number: Int32) -> TopicPartition {
        TopicPartition(topic: "orders.events", partition: number)
    }

    private static func sample() -> JournalEntry {
        var entry = JournalEntry(group: "shop \"a\"", cluster: "c-1", dispatch: "d", rules: "abc")
        entry.ranges = [
            .init(
                topic: "orders.events", partition: 0, from: 5, to: 9,
                first: RecordFingerprint(offset: 6, timestamp: 77, key: StoredHash(number: 1)), incomplete: true),
            .init(
                topic: "orders.events", partition: 3, from: 1, to: 2,
                first: RecordFingerprint(offset: 1, timestamp: nil, key: nil as StoredHash?)),
            .init(topic: "orders.events", partition: 4, from: 1, to: .max),
        ]
        entry.watermarks = [
            .init(partition(0), from: TimerWatermark(1, split: 2), to: TimerWatermark(2), until: 3),
            .init(partition(3), from: TimerWatermark(3), to: TimerWatermark(3, split: 4), until: 9),
            .init(partition(4), from: TimerWatermark(3), to: TimerWatermark(3), until: nil),
        ]
        entry.clock = 1_725_707_721_000
        entry.table = [12, 0]
        return entry
    }

    private func read(_ json: [UInt8]) throws(JournalProblem) -> JournalEntry {
        let result = json.withUnsafeBytes { bytes in
            Result { () throws(JournalProblem) in try JournalEntry(json: bytes) }
        }
        return try result.get()
    }

    @Test("an entry has its members by name, without those that are absent, and numbers of 64 bits")
    func json() throws {
        let expected =
            #"{"clock":1725707721000,"cluster":"c-1","dispatch":"d","group":"shop \"a\"","ranges":["#
            + #"{"first":{"key":"0000000000000001","offset":6,"timestamp":77},"from":5,"incomplete":true,"partition":0,"to":9,"topic":"orders.events"},"#
            + #"{"first":{"key":null,"offset":1,"timestamp":null},"from":1,"partition":3,"to":2,"topic":"orders.events"},"#
            + #"{"from":1,"partition":4,"to":9223372036854775807,"topic":"orders.events"}],"#
            + #""rules":"abc","table":[12,0],"v":2,"watermarks":["#
            + #"{"after":2,"before":1,"before_p":"0000000000000002","partition":0,"topic":"orders.events","until":3},"#
            + #"{"after":3,"after_p":"0000000000000004","before":3,"partition":3,"topic":"orders.events","until":9},"#
            + #"{"after":3,"before":3,"partition":4,"topic":"orders.events"}]}"#
        #expect(String(decoding: try Self.sample().json(), as: UTF8.self) == expected)
    }

    @Test("an entry is read as it was written; without a table and a cluster it has null")
    func roundTrip() throws {
        var entry = Self.sample()
        #expect(try read(entry.json()) == entry)
        entry.cluster = nil
        entry.table = nil
        let json = String(decoding: try entry.json(), as: UTF8.self)
        #expect(json.contains(#""table":null"#) && json.contains(#""cluster":null"#))
        #expect(try read(entry.json()) == entry)
    }

    @Test("the schema's examples are read, and written as they are")
    func schema() throws {
        let text = try Page("Schemas/notifications.journal.value.schema.json").text()
        let schema = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let examples = try #require(schema["examples"] as? [[String: Any]])
        #expect(examples.count == 2)
        for example in examples {
            let entry = try read([UInt8](try JSONSerialization.data(withJSONObject: example)))
            let again = try JSONSerialization.jsonObject(with: Data(try entry.json())) as? NSDictionary
            #expect(again == example as NSDictionary)
        }
    }

    @Test("what is wrong with a record is said")
    func problems() throws {
        let json = String(decoding: try Self.sample().json(), as: UTF8.self)
        let wrong = [
            ("", "", "it is not JSON"), (#""group":"shop \"a\"","#, "", "group is missing"),
            (#""table":[12,0],"#, "", "table is missing"),
            (#""offset":6"#, #""offset":"6""#, "ranges.0.first.offset has another type"),
            (#""to":9,"#, #""to":null,"#, "ranges.0.to is null"),
            ("0000000000000004", "4", "watermarks.1.after_p is wrong: not 16 lower-case hex digits"),
        ]
        for (part, other, sentence) in wrong {
            let text = part.isEmpty ? "{" : json.replacing(part, with: other)
            #expect(throws: JournalProblem.malformed(sentence)) { try read([UInt8](text.utf8)) }
        }
        #expect(throws: JournalProblem.malformed("v is missing")) { try read([UInt8]("{}".utf8)) }
        for text in [#"{"v":9}"#, json.replacing(#""v":2"#, with: #""v":1"#)] {
            #expect(throws: JournalProblem.anotherVersion) { try read([UInt8](text.utf8)) }
        }
    }
}
