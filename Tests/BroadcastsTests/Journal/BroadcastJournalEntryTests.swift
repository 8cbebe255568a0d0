import Foundation
import JSONReader
import NotificationPayload
import TestSupport
import Testing

@testable import Broadcasts

@Suite("The journal of broadcasts")
struct BroadcastJournalEntryTests {
    private static let hash = [UInt8](repeating: 0xFF, count: 32)

    static func sample() -> BroadcastJournalEntry {
        let subject = BroadcastJournalEntry.Subject(
            partition: 7, broadcast: 12, notificationID: "12\"35", messageID: "msg-1-abc")
        var entry = BroadcastJournalEntry(
            group: "carillon-broadcasts", cluster: nil, dispatch: "notifications.dispatch.broadcasts", rules: "0f")
        entry.ranges = [.init(topic: "notifications.subscriptions", partition: 7, from: 100, to: 200)]
        entry.broadcasts = 13
        entry.clock = 1_751_875_337_000
        entry.passes = [
            .init(subject: subject, joinedBelow: 100, keyAfter: hash, devices: 900, sent: 500, stale: 2),
            .init(subject: subject, joinedBelow: 100, keyBefore: hash, sent: 1, end: .done),
        ]
        entry.late = [.init(subject: subject, sent: 3)]
        entry.skipped = [.init(partition: 7, broadcast: 13, notificationID: nil, reason: .deadLetter)]
        return entry
    }

    private func text(_ entry: BroadcastJournalEntry) -> String {
        var text = ByteWriter()
        entry.append(to: &text)
        return String(decoding: text.bytes, as: UTF8.self)
    }

    private func read(_ text: String) throws -> BroadcastJournalEntry? {
        var reader = JSONReader()
        return try Array(text.utf8).withUnsafeBytes { bytes in BroadcastJournalEntry(try reader.parse(bytes)) }
    }

    private func isForeign(_ text: String) throws -> Bool {
        var reader = JSONReader()
        return try Array(text.utf8).withUnsafeBytes { BroadcastJournalEntry.isForeign(try reader.parse($0)) }
    }

    @Test("an entry has its members in a fixed order, without those that are absent")
    func bytes() {
        let hash = "__________________________________________8"
        let subject = #""partition":7,"broadcast":12,"id":"12\"35","message_id":"msg-1-abc""#
        #expect(
            text(Self.sample()) == #"{"v":2,"group":"carillon-broadcasts","cluster":null,"#
                + #""dispatch":"notifications.dispatch.broadcasts","#
                + #""ranges":[{"topic":"notifications.subscriptions","partition":7,"from":100,"to":200}],"#
                + #""broadcasts":13,"clock":1751875337000,"#
                + #""passes":[{\#(subject),"s":100,"k_after":"\#(hash)","devices":900,"sent":500,"stale":2},"#
                + #"{\#(subject),"s":100,"k_before":"\#(hash)","sent":1,"stale":0,"end":"done"}],"#
                + #""late":[{\#(subject),"sent":3}],"#
                + #""skipped":[{"partition":7,"broadcast":13,"reason":"dead_letter"}],"rules":"0f"}"#)
    }

    @Test("an entry is read as it was written")
    func roundTrip() throws {
        var entry = Self.sample()
        #expect(try read(text(entry)) == entry)
        entry.cluster = "abc"
        entry.skipped[0].notificationID = "7"
        #expect(try read(text(entry)) == entry)
    }

    @Test("an entry of another journal is none", arguments: [#"{"v":2}"#, "{}", "[]"])
    func foreign(value: String) throws {
        #expect(try read(value) == nil)
        #expect(try !isForeign(value))
    }

    @Test("another version's entry is recognized as such", arguments: [1, 3])
    func version(number: Int) throws {
        let value = text(Self.sample()).replacing(#""v":2"#, with: #""v":\#(number)"#)
        #expect(try read(value) == nil && isForeign(value))
    }

    @Test("the schema's examples are read, and written as they are")
    func schema() throws {
        let text = try Page("Schemas/notifications.broadcasts.journal.value.schema.json").text()
        let schema = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let examples = try #require(schema["examples"] as? [[String: Any]])
        #expect(examples.count == 2)
        for example in examples {
            let data = try JSONSerialization.data(withJSONObject: example)
            let entry = try #require(try read(String(decoding: data, as: UTF8.self)))
            let again = try JSONSerialization.jsonObject(with: Data(self.text(entry).utf8)) as? NSDictionary
            #expect(again == example as NSDictionary)
        }
    }

    @Test("an unknown end of a pass is no entry")
    func unknownEnd() throws {
        #expect(try read(text(Self.sample()).replacing("\"done\"", with: "\"later\"")) == nil)
    }
}
