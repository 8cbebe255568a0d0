import NotificationPayload
import Testing

@testable import Digests
@testable import Events
@testable import OrderState
@testable import Pipeline

@Suite("An entry of the journal")
struct JournalEntryTests {
    private static var topics: PipelineConfiguration.Topics {
        var topics = PipelineConfiguration.Topics()
        topics.dispatch = "d"
        return topics
    }

    private let origin = JournalEntry.Origin(
        group: "shop \"a\"", cluster: "c-1", topics: Self.topics, rules: "abc")

    private func text(of entry: JournalEntry, _ origin: JournalEntry.Origin) -> String {
        var text = ByteWriter()
        entry.append(to: &text, origin: origin)
        return String(decoding: text.bytes, as: UTF8.self)
    }

    @Test("the journal entry says whose it is, ranges, watermarks, clock, table and rules, in this order")
    func journal() {
        var entry = JournalEntry()
        entry.ranges = [
            JournalEntry.Range(
                partition: 0, from: 5, to: 9,
                first: RecordFingerprint(offset: 6, timestamp: 77, key: StoredHash(number: 1)),
                isIncomplete: true, watermarkBefore: TimerWatermark(1, split: 2), watermarkAfter: 2, until: 3),
            JournalEntry.Range(
                partition: 3, from: 1, to: 2,
                first: RecordFingerprint(offset: 1, timestamp: nil, key: nil as StoredHash?),
                watermarkBefore: 3, watermarkAfter: TimerWatermark(3, split: 4), until: 9),
            JournalEntry.Range(partition: 4, from: 1, to: 1, watermarkBefore: 3, watermarkAfter: 3),
        ]
        entry.clock = 1_725_707_721_000
        entry.table = [12, 0]
        let expected =
            #"{"v":2,"group":"shop \"a\"","cluster":"c-1","dispatch":"d","#
            + #""ranges":[{"topic":"orders.events","partition":0,"from":5,"to":9,"first":{"offset":6,"timestamp":77,"key":"0000000000000001"},"incomplete":true},"#
            + #"{"topic":"orders.events","partition":3,"from":1,"to":2,"first":{"offset":1,"timestamp":null,"key":null}},"#
            + #"{"topic":"orders.events","partition":4,"from":1,"to":1}],"#
            + #""watermarks":[{"topic":"orders.events","partition":0,"before":1,"before_p":"0000000000000002","after":2,"until":3},"#
            + #"{"topic":"orders.events","partition":3,"before":3,"after":3,"after_p":"0000000000000004","until":9},"#
            + #"{"topic":"orders.events","partition":4,"before":3,"after":3}],"#
            + #""clock":1725707721000,"table":[12,0],"rules":"abc"}"#
        #expect(text(of: entry, origin) == expected)
    }

    @Test("a journal entry of a user's own resolver has no table, and one of an unknown cluster no cluster")
    func journalWithoutTable() {
        var origin = origin
        origin.cluster = nil
        #expect(text(of: JournalEntry(), origin).contains(#""table":null"#))
        #expect(text(of: JournalEntry(), origin).contains(#""cluster":null"#))
    }
}
