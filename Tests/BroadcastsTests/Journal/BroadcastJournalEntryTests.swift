import Foundation
import Pipeline
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

    private func text(_ entry: BroadcastJournalEntry) throws -> String {
        String(decoding: try entry.json(), as: UTF8.self)
    }

    private func read(_ text: String) throws(JournalProblem) -> BroadcastJournalEntry {
        let result = Array(text.utf8).withUnsafeBytes { bytes in
            Result { () throws(JournalProblem) in try BroadcastJournalEntry(json: bytes) }
        }
        return try result.get()
    }

    @Test("an entry has its members by name, without those that are absent")
    func bytes() throws {
        let hash = "__________________________________________8"
        let ids = (#""broadcast":12"#, #""id":"12\"35""#, #""message_id":"msg-1-abc","partition":7"#)
        #expect(
            try text(Self.sample()) == #"{"broadcasts":13,"clock":1751875337000,"cluster":null,"#
                + #""dispatch":"notifications.dispatch.broadcasts","group":"carillon-broadcasts","#
                + #""late":[{\#(ids.0),\#(ids.1),\#(ids.2),"sent":3}],"#
                + #""passes":[{\#(ids.0),"devices":900,\#(ids.1),"k_after":"\#(hash)",\#(ids.2),"s":100,"sent":500,"stale":2},"#
                + #"{\#(ids.0),"end":"done",\#(ids.1),"k_before":"\#(hash)",\#(ids.2),"s":100,"sent":1,"stale":0}],"#
                + #""ranges":[{"from":100,"partition":7,"to":200,"topic":"notifications.subscriptions"}],"rules":"0f","#
                + #""skipped":[{"broadcast":13,"partition":7,"reason":"dead_letter"}],"v":3}"#)
    }

    @Test("an entry is read as it was written")
    func roundTrip() throws {
        var entry = Self.sample()
        #expect(try read(text(entry)) == entry)
        entry.cluster = "abc"
        entry.skipped[0].notificationID = "7"
        #expect(try read(text(entry)) == entry)
    }

    @Test("an entry of another journal is none", arguments: [#"{"v":3}"#, "{}", "[]"])
    func foreign(value: String) {
        let problem = #expect(throws: JournalProblem.self) { try read(value) }
        #expect(problem != .anotherVersion)
    }

    @Test("another version's entry is recognized as such", arguments: [2, 4])
    func version(number: Int) throws {
        let value = try text(Self.sample()).replacing(#""v":3"#, with: #""v":\#(number)"#)
        #expect(throws: JournalProblem.anotherVersion) { try read(value) }
    }

    @Test("the schema's examples are read, and written as they are")
    func schema() throws {
        let text = try Page("Schemas/notifications.broadcasts.journal.value.schema.json").text()
        let schema = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let examples = try #require(schema["examples"] as? [[String: Any]])
        #expect(examples.count == 2)
        for example in examples {
            let data = try JSONSerialization.data(withJSONObject: example)
            let entry = try read(String(decoding: data, as: UTF8.self))
            let again = try JSONSerialization.jsonObject(with: Data(try entry.json())) as? NSDictionary
            #expect(again == example as NSDictionary)
        }
    }

    @Test("an unknown end of a pass is no entry, and neither is a hash that is not base64url")
    func unknown() throws {
        for (part, other) in [("\"done\"", "\"later\""), ("__8\"", "__%\"")] {
            #expect(throws: JournalProblem.self) { try read(try text(Self.sample()).replacing(part, with: other)) }
        }
    }
}
