import Foundation
import Testing

@Suite("carillon check-config --events")
struct CheckEventsTests {
    private struct Trial: Decodable {
        struct Letter: Decodable {
            var code: String
            var records: Int
            var line: Int
            var sentence: String
        }
        struct Member: Decodable, Hashable {
            var key: String
            var path: String
            var events: Int
        }
        struct Kind: Decodable, Equatable {
            var type: String
            var events: Int
            var name: String
            var known: String?
        }
        var records: Int
        var events: Int
        var notifications: [String: Int]
        var audiences: [String: Int]
        var suppressed: [String: Int]
        var missingAudiences: [String: Int]
        var deadLetters: [Letter]
        var members: [Member]
        var types: [Kind]
        var isCut: Bool
    }

    private struct Report: Decodable {
        var events: Trial
    }

    private func check(_ words: [String] = [], _ lines: String...) throws -> CommandProcess {
        try CommandProcess.run(["check-config", "--events", "-"] + words, input: lines.joined(separator: "\n"))
    }

    private func trial(_ lines: [String], _ words: [String] = []) throws -> Trial {
        let result = try CommandProcess.run(
            ["check-config", "--events", "-", "--json"] + words, input: lines.joined(separator: "\n"))
        #expect(result.status == 0, "\(result.errors)")
        return try JSONDecoder().decode(Report.self, from: Data(result.output.utf8)).events
    }

    /// By key, the path that is proposed.
    private func proposals(_ lines: String...) throws -> [String: String] {
        let members = try trial(lines).members
        return Dictionary(uniqueKeysWithValues: members.map { ($0.key, $0.path) })
    }

    private let good =
        #"{"event_id":"1","event_type":"ORDER_CREATED","order":{"id":"1","place_id":"42","customer":{"id":7}}}"#

    @Test("it counts what would be sent, and to whom, without a broker and without subscriptions")
    func sent() throws {
        let kcat =
            #"{"topic":"orders.events","partition":3,"offset":7,"ts":1,"headers":["eventType","order.created"],"payload":"{\"id\":\"2\",\"place_id\":\"42\"}"}"#
        let list = #"{"event_type":"ORDER_IDS_LISTED","place_id":"42","order_ids":["3","4"]}"#
        let found = try trial(
            [good, good, "", kcat, list], ["--set", "audiences=place/{place_id},user/{customer.id}"])
        #expect(found.records == 4 && found.events == 4)
        #expect(found.notifications == ["event_order_created": 2, "event_order_ids_listed": 2])
        #expect(found.audiences == ["place": 4, "user": 1])
        #expect(found.missingAudiences == ["user/{customer.id}": 3])
        #expect(found.suppressed == ["duplicate": 1])
        #expect(found.deadLetters.isEmpty && found.members.isEmpty && found.types.isEmpty && !found.isCut)
    }

    @Test("it counts dead letters by their reason, each with the line and the sentence of the first one")
    func dead() throws {
        let noPlace = #"{"event_type":"ORDER_CREATED","order":{"id":"9"}}"#
        let found = try trial([good, "no JSON", noPlace, noPlace, "{"])
        #expect(found.deadLetters.map(\.code) == ["invalid_json", "no_place"])
        #expect(found.deadLetters.map(\.records) == [2, 2])
        #expect(found.deadLetters.map(\.line) == [2, 3])
        #expect(found.deadLetters[1].sentence.hasPrefix(#"order "9" has no place"#))
    }

    @Test("for what no event has it proposes the nearest name that they have, however its words are put together")
    func nearest() throws {
        #expect(
            try proposals(
                #"{"eventType":"ORDER_CREATED","order":{"orderId":"1","storeId":"42","delivery":{"from":"14:00","to":"15:00"}}}"#
            )
                == [
                    "event_type": "eventType", "order.id": "orderId", "order.place_id": "storeId",
                    "order.shipping_info.slot.start_time": "delivery.from",
                    "order.shipping_info.slot.end_time": "delivery.to",
                ])
        #expect(
            try proposals(
                #"{"event_type":"ORDER_CREATED","OrderNumber__c":"1","Store__c":"42","Delivery_Date__c":"2026-11-27"}"#)
                == [
                    "order.order_number": "OrderNumber__c", "order.place_id": "Store__c",
                    "order.shipping_info.slot.date": "Delivery_Date__c",
                ])
        #expect(
            try proposals(
                #"{"kind":"ORDER_STATUS_CHANGED","id":"e1","data":{"order":{"order-no":"1","store":{"code":"7"}}},"status":{"from":"a","to":"b"}}"#
            )
                == [
                    "event_type": "kind", "event_id": "id", "order": "data.order", "order.order_number": "order-no",
                    "order.place_id": "store.code", "new_status": "status.to", "previous_status": "status.from",
                ])
        let list =
            #"{"event_type":"ORDER_IDS_LISTED","place_id":"1","orders":[{"orderId":"1"},{"orderId":"2"}]}"#
        #expect(try trial([list, good]).members.isEmpty)
        #expect(try trial([list]).members.map(\.events) == [1])
        #expect(
            try proposals(#"{"event_type":"ORDER_CREATED","order":{"odrerId":"1","place_id":"1"}}"#)["order.id"]
                == "odrerId")
    }

    @Test(
        "it proposes nothing for what some event has, nothing that is of another kind, and no name that says something else"
    )
    func nothing() throws {
        #expect(try proposals(good, #"{"event_type":"ORDER_CREATED","order":{"orderId":"1","storeId":"42"}}"#).isEmpty)
        let others =
            #"{"event_type":"ORDER_CREATED","order":{"id":"1","place_id":"1","orderNumber":{"a":1},"customer":{"id":1},"payment":{"status":"paid"},"deliveryFee":3,"total":7}}"#
        #expect(try proposals(others).isEmpty)
    }

    @Test("for a type that it does not know it proposes a name, and says which known type it is but for its spelling")
    func types() throws {
        let types = ["ORDER_DELAYED", "com.example.order.delayed.v2", "PickupReady", "OrderCreated", "ORDER_DELAYED"]
        let found = try trial(types.map { #"{"event_type":"\#($0)","order":{"id":"1","place_id":"42"}}"# })
        #expect(
            found.types.map(\.type) == ["ORDER_DELAYED", "OrderCreated", "PickupReady", "com.example.order.delayed.v2"])
        #expect(found.types.map(\.name) == ["order_delayed", "order_created", "pickup_ready", "order_delayed"])
        #expect(found.types.map(\.known) == [nil, "ORDER_CREATED", nil, nil])
        #expect(found.types[0].events == 2)
        let lines = types.map { #"{"event_type":"\#($0)","order":{"id":"1","place_id":"42"}}"# }
        let text = try CommandProcess.run(["check-config", "--events", "-"], input: lines.joined(separator: "\n"))
        let declared = #"{"order_delayed":{},"pickup_ready":{"names":["PickupReady"]}}"#
        #expect(text.output.contains(declared))
        let file = FileManager.default.temporaryDirectory.appending(path: "types-\(UUID()).json")
        try Data(declared.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let again = try trial(
            types.map { #"{"event_type":"\#($0)","order":{"id":"1","place_id":"42"}}"# },
            ["--set", "events.types=@\(file.path)"])
        #expect(again.types.map(\.type) == ["OrderCreated"])
        #expect(again.notifications == ["event_order_delayed": 3, "event_pickup_ready": 1])
        #expect(text.output.contains("`OrderCreated` in 1 of 5 events: is it ORDER_CREATED?"), "\(text.output)")
    }

    @Test(
        "what it proposes is a file that the setting takes: with it the events are sent, and nothing is proposed again")
    func applied() throws {
        let event =
            #"{"kind":"order.created","id":"e","data":{"orderId":"1","store":"42","delivery":{"from":"14:00","date":"2026-11-28"}}}"#
        let before = try check([], event)
        let file = FileManager.default.temporaryDirectory.path + "/members-\(UUID().uuidString).json"
        try #require(before.output.split(separator: "\n").last).write(toFile: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }
        let after = try trial([event], ["--set", "events.members=@\(file)"])
        #expect(after.notifications == ["event_order_created": 1] && after.members.isEmpty)
    }

    @Test("a person reads counts, the first record of each reason, and what to map; control characters are escaped")
    func text() throws {
        let result = try check(
            [], #"{"event_type":"ORDER_CREATED","order":{"orderId":"1","storeId":"42"}}"#,
            #"{"event_type":"BAD\u001b[31m\u009b","order":{}}"#)
        #expect(result.status == 0)
        #expect(result.output.contains("no_place      1        1           the event has no place"), "\(result.output)")
        #expect(result.output.contains("`orderId` in 1 of 2 events: map it to `order.id` with events.members?"))
        #expect(result.output.contains(#"{"order.id":["orderId"],"order.place_id":["storeId"]}"#))
        #expect(result.output.contains(#"\u{1b}"#))
        #expect(!result.output.contains("\u{1B}") && !result.output.contains("\u{9B}"))
        let json = try check(["--json"], #"{"event_type":"BAD\u009b","order":{}}"#)
        #expect(!json.output.contains("\u{9B}") && json.output.contains("\\u009b"))
    }

    @Test("events of any size and with any number of names take a bounded memory, which the report says")
    func bounds() throws {
        let names = (0..<5_000).map { #""name\#($0)":1"# }.joined(separator: ",")
        let found = try trial([#"{"event_type":"ORDER_CREATED","id":"1","place_id":"42",\#(names)}"#])
        #expect(found.isCut && found.records == 1)
        let types = (0..<200).map { #"{"event_type":"T\#($0)","order":{}}"# }
        #expect(try trial(types).types.count == 100)
    }

    @Test("a file that is not there, and a setting that is wrong, are said as by other commands: 64")
    func refused() throws {
        let missing = try CommandProcess.run(["check-config", "--events", "/nowhere/events.jsonl"])
        #expect(missing.status == 64)
        #expect(missing.errors.contains("/nowhere/events.jsonl: No such file or directory"))
        let wrong = try check(["--set", "audiences=nobody"], good)
        #expect(wrong.status == 64)
        #expect(wrong.errors.contains("audiences"))
    }
}
