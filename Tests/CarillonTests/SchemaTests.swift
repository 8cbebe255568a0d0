import Broadcasts
import Foundation
import NotificationPayload
import Notifications
import TestSupport
import Testing

/// A case that a schema does not list would be rejected by anybody who validates records with it.
@Suite("The schemas list every case")
struct SchemaTests {
    /// The words that a schema allows for a member, which are the same wherever it occurs in the schema.
    private func words(_ file: String, _ member: String) throws -> [String] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
        let data = try Data(contentsOf: root.appending(path: "Schemas/\(file).schema.json"))
        func lists(_ node: Any) -> [[String]] {
            if let elements = node as? [Any] { return elements.flatMap(lists) }
            guard let members = node as? [String: Any] else { return [] }
            let schema = members[member] as? [String: Any]
            // Where other words are allowed as well, the known ones come first.
            let first = (schema?["anyOf"] as? [[String: Any]])?.first ?? schema
            let own = first?["enum"] as? [String]
            return (own.map { [$0] } ?? []) + members.values.flatMap(lists)
        }
        let found = lists(try JSONSerialization.jsonObject(with: data))
        try #require(Set(found).count == 1, "\(file): \(member)")
        return found[0]
    }

    @Test("of dead letters: codes and stages")
    func deadLetters() throws {
        let file = "notifications.dead-letters.headers"
        #expect(try words(file, "x-error-code") == DeadLetter.Code.allCases.map(\.label))
        #expect(
            try Set(words(file, "__connect.errors.stage")) == Set(DeadLetter.Code.allCases.map(\.stage)))
    }

    @Test("of pushes: types, platforms, environments and types of orders")
    func pushes() throws {
        let types = EventType.allCases.map(\.rawValue)
        #expect(try words("notification.payload", "event_type") == types)
        let headers = "notifications.dispatch.headers"
        let others = RequestNotification.Content.allCases.map(\.rawValue) + ["broadcast"]
        #expect(try words(headers, "event-type") == types + others)
        #expect(try words(headers, "platform") == Platform.allCases.map(\.rawValue))
        let value = "notifications.dispatch.value"
        #expect(try words(value, "order_type") == OrderType.allCases.map { "\($0.text)" })
        #expect(try words(value, "environment") == PushEnvironment.allCases.map(\.rawValue))
    }

    @Test("of order events: types, in each of their spellings")
    func events() throws {
        let file = try Page("Schemas/orders.events.value.schema.json").text()
        let root = try JSONSerialization.jsonObject(with: Data(file.utf8)) as? [String: Any]
        let type = try #require((root?["$defs"] as? [String: Any])?["eventType"] as? [String: Any])
        let pattern = try Regex(try #require(type["pattern"] as? String))
        for type in EventType.allCases {
            let name = type.rawValue.dropFirst("event_".count)
            let dotted = "com.example.\(name.replacing("_", with: ".")).v1"
            for spelling in [type.rawValue, name.uppercased(), dotted] {
                #expect(spelling.contains(pattern), "\(spelling)")
            }
        }
    }

    @Test("of subscriptions: platforms and environments")
    func subscriptions() throws {
        let file = "notifications.subscriptions.value"
        #expect(try words(file, "platform") == Platform.allCases.map(\.rawValue))
        #expect(try words(file, "environment") == PushEnvironment.allCases.map(\.rawValue))
    }

    @Test("of outcomes: outcomes, platforms and environments")
    func outcomes() throws {
        let file = "notifications.deliveries.value"
        #expect(try words(file, "outcome") == DeliveryOutcome.allCases.map(\.rawValue))
        #expect(try words(file, "platform") == Platform.allCases.map(\.rawValue))
        #expect(try words(file, "environment") == PushEnvironment.allCases.map(\.rawValue))
    }

    @Test("of the journal of broadcasts: how a pass ends, and why there is none")
    func broadcasts() throws {
        let file = "notifications.broadcasts.journal.value"
        #expect(try words(file, "end") == BroadcastJournalEntry.Slice.End.allCases.map(\.rawValue))
        #expect(try words(file, "reason") == BroadcastJournalEntry.Skipped.Reason.allCases.map(\.rawValue))
    }

    @Test("of retries: the headers of dispatch, and what a retry notes")
    func retries() throws {
        func properties(_ file: String) throws -> [String: Any] {
            let text = try Page("Schemas/\(file).schema.json").text()
            let root = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
            return try #require(root?["properties"] as? [String: Any])
        }
        let retry = try properties("notifications.dispatch.retry.headers")
        let dispatch = try properties("notifications.dispatch.headers")
        #expect(Set(retry.keys) == Set(dispatch.keys).union(["\(RetryNote.header)"]))
        let note = try #require(retry["\(RetryNote.header)"] as? [String: Any])
        let pattern = try Regex(try #require(note["pattern"] as? String))
        for (time, status, reason) in [
            (nil, nil, nil), (1_751_875_338_000, nil, "no_answer"), (1_751_875_338_000, 503, "UNAVAILABLE"),
        ] as [(WallTime?, Int?, String?)] {
            let note = RetryNote(
                offset: 0, attempts: 0, used: 71_000, firstSentAt: time, lastSentAt: time, notBefore: time,
                status: status, reason: reason)
            #expect(note.text.contains(pattern), "\(note.text)")
        }
    }
}
