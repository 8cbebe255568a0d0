import JSONReader
import NotificationPayload
import TestSupport
import Testing

@testable import Notifications

@Suite("§5.7: event types of your own")
struct EventTypesTests {
    private func rules(
        _ types: String, audiences: String = "place/{place_id}",
        onMissingOrderID: ExtractionRules.MissingOrderID = .send
    ) throws -> ExtractionRules {
        try ExtractionRules(
            onMissingOrderID: onMissingOrderID,
            audiences: AudienceTemplates(
                AudienceTemplate.list(audiences), types: EventTypes(json: Array(types.utf8))))
    }

    private func event(_ type: String, _ order: String = #""id":"o1","place_id":"p1""#) -> String {
        #"{"event_type":"\#(type)","occurred_at":"2025-07-07T10:00:00Z","order":{\#(order)}}"#
    }

    /// The type of a name in the payload, or the dead letter's code.
    private func type(_ name: String, _ types: String) throws -> String {
        let result = extract(event(name), rules: try rules(types))
        return result.payload?.eventType ?? result.code?.label ?? "?"
    }

    @Test("by default there are none: an unknown type is a dead letter that says where to declare it")
    func standard() throws {
        #expect(
            extract(event("ORDER_DELAYED")).deadLetter?.message
                == #""ORDER_DELAYED" is no event type of an order, such as ORDER_CREATED; events.types declares others"#
        )
        let none = try ExtractionRules()
        #expect(none.types.declared.isEmpty && none.types.description.isEmpty)
        #expect(try type("ORDER_CREATED", "{}") == "event_order_created")
    }

    @Test(
        "its names are compared as those of document 1 are",
        arguments: [
            "ORDER_DELAYED", "Order_Delayed", "event_order_delayed", "EVENT_ORDER_DELAYED", "order.delayed",
            "order.delayed.v2", "com.example.order.delayed", "com.example.Order_Delayed.v1", "shop.late", "SHOP_LATE",
            "x.shop.late.v9",
        ])
    func names(_ name: String) throws {
        let types = #"{"order_delayed":{"names":["ORDER_DELAYED","com.example.order.delayed","event_shop.late.v3"]}}"#
        #expect(try type(name, types) == "event_order_delayed")
    }

    @Test(
        "a name that only contains one of them, or ends in one without a dot, is none",
        arguments: ["DELAYED", "ORDER_DELAYED_2", "MY_ORDER_DELAYED", "comorder.delayed", "order_delayed."])
    func otherNames(_ name: String) throws {
        #expect(try type(name, #"{"order_delayed":{}}"#) == "unknown_type")
    }

    @Test("without names it comes under its own, with names only under those")
    func ownName() throws {
        #expect(try type("ORDER_DELAYED", #"{"order_delayed":{}}"#) == "event_order_delayed")
        let renamed = #"{"order_delayed":{"names":["LATE"]}}"#
        #expect(try type("LATE", renamed) == "event_order_delayed")
        #expect(try type("ORDER_DELAYED", renamed) == "unknown_type")
    }

    @Test("of several names that a dotted one ends in, the longest counts, whoever's it is")
    func longest() throws {
        let types = #"{"a":{"names":["delayed"]},"b":{"names":["order_delayed"]},"c":{"names":["big.order.created"]}}"#
        #expect(try type("com.shop.order.delayed", types) == "event_b")
        #expect(try type("com.shop.delayed", types) == "event_a")
        #expect(try type("com.big.order.created", types) == "event_c")
        #expect(try type("com.small.order.created", types) == "event_order_created")
        #expect(try type("ORDER_CREATED", types) == "event_order_created")
    }

    @Test("the payload is document 1's, then the members as texts, in the order of the file; absent ones are left out")
    func payload() throws {
        let types = #"{"order_delayed":{"members":["delay_minutes","delay.reason","nothing","a-b","Flag"]}}"#
        let order = #"""
            "id":"o1","place_id":"p1","delay":{"reason":" \"Snow\" \\ é "},"delay_minutes":2.50,"nothing":null,"Flag":true,
            "a-b":"x\u0001"
            """#
        let result = extract(event("ORDER_DELAYED", order), rules: try rules(types))
        let created = try #require(extract(event("ORDER_CREATED", order)).notifications.first)
        let notification = try #require(result.notifications.first)
        let added = #","delay_minutes":"2.5","reason":"\"Snow\" \\ é","a-b":"x\u0001""#
        #expect(
            notification.encoded
                == created.encoded
                .replacing(created.messageID, with: notification.messageID)
                .replacing("event_order_created", with: "event_order_delayed")
                .replacing("}}", with: added + "}}"))
        #expect(result.payload?.orderID == "o1" && notification.audiences == [] && !notification.isDegraded)
    }

    @Test("the message id has the type's name, so that two types of one event are two notifications")
    func messageID() throws {
        let types = #"{"a":{"names":["X"]},"b":{"names":["Y"]}}"#
        let ids = try ["X", "Y"].map { name in
            try extract(
                #"{"event_id":"e","event_type":"\#(name)","order":{"id":"o","place_id":"p"}}"#, rules: rules(types)
            ).notifications.first?.messageID
        }
        #expect(ids[0] != nil && ids[1] != nil && ids[0] != ids[1])
    }

    @Test("a member may have 1,024 bytes; with one more the event is a dead letter, and nothing of it stays")
    func longMember() throws {
        let types = #"{"late":{"members":["reason"]}}"#
        func result(_ count: Int) throws -> TestResult {
            let reason = String(repeating: "x", count: count)
            return extract(event("LATE", #""id":"o1","place_id":"p1","reason":"\#(reason)""#), rules: try rules(types))
        }
        #expect(try result(1_024).notifications.count == 1)
        #expect(try result(1_025).code == .payloadTooLarge)
        #expect(
            try result(1_025).deadLetter?.message
                == #"the member "reason" has 1025 bytes; at most 1024 are allowed"#)
        let many = #"{"late":{"members":["a","b","c","d"]}}"#
        let members = ["a", "b", "c", "d"].map { #""\#($0)":"\#(String(repeating: "x", count: 1_000))""# }
        let large = extract(
            event("LATE", #""id":"o1","place_id":"p1","# + members.joined(separator: ",")), rules: try rules(many))
        #expect(large.code == .payloadTooLarge)
    }

    @Test("where an order is required, row 1 says what becomes of an event without its id; where it is not, it is sent")
    func missingOrder() throws {
        let types = #"{"late":{},"store_closed":{"order":"optional"}}"#
        let place = #""place_id":"p1""#
        let late = extract(event("LATE", place), rules: try rules(types))
        #expect(late.notifications.first?.isDegraded == true && late.payload?.orderID == "")
        let dead = extract(event("LATE", place), rules: try rules(types, onMissingOrderID: .deadLetter))
        #expect(dead.code == .missingOrderID)
        for missing in ExtractionRules.MissingOrderID.allCases {
            let rules = try rules(types, onMissingOrderID: missing)
            let closed = extract(event("STORE_CLOSED", place), rules: rules)
            #expect(closed.notifications.first?.isDegraded == false && closed.payload?.orderID == "")
            let bare = extract(#"{"event_type":"STORE_CLOSED","place_id":"p1"}"#, rules: rules)
            #expect(bare.notifications.first?.isDegraded == false && bare.payload?.placeID == "p1")
        }
    }

    @Test("its audiences are its own, otherwise those of all")
    func audiences() throws {
        let types = #"{"a":{"audiences":["user/{customer.id}","place/{place_id}"]},"b":{}}"#
        let order = #""id":"o1","place_id":"p1","customer":{"id":7},"tier":"gold""#
        let rules = try rules(types, audiences: "channel/{tier}")
        #expect(extract(event("A", order), rules: rules).notifications.first?.audiences == ["user/7", "place/p1"])
        #expect(extract(event("B", order), rules: rules).notifications.first?.audiences == ["channel/gold"])
        #expect(extract(event("B"), rules: rules).code == .noAudience)
        let placeless = #""id":"o1","customer":{"id":7}"#
        #expect(extract(event("A", placeless), rules: rules).notifications.first?.audiences == ["user/7"])
        let usual = try self.rules(types)
        #expect(extract(event("B", placeless), rules: usual).code == .noPlace)
    }

    @Test("a type that changes nothing is not shown to the history of orders; one that keeps its state is, once")
    func history() throws {
        for (state, calls) in [("unchanged", []), ("kept", ["consider", "apply"])] {
            let rules = try rules(#"{"late":{"state":"\#(state)"}}"#)
            var extractor = Extractor(rules: rules)
            var batch = EventBatch(.orders, topic: "")
            var history = RecordedCalls()
            let value = OwnedBytes(Array(event("LATE").utf8))
            batch.records.append(
                EventRecord(partition: 0, offset: 0, timestamp: nil, key: nil, value: value.bytes, headers: 0..<0))
            let outcome = withExtendedLifetime(value) { extractor.extract(0, in: &batch, history: &history) }
            guard case .notifications(1) = outcome else {
                Issue.record("\(outcome)")
                continue
            }
            #expect(history.calls == calls)
        }
    }

    @Test("everything that is wrong with a file is said at once")
    func problems() {
        let long = String(repeating: "x", count: 201)
        let json = """
            {"order_created":{},"Late":{},"a":{"names":["ORDER_CREATED","x y","","\(long)","Q","q"],"order":"maybe",\
            "state":"new","extra":1},"b":{"names":["q","event_q.v1"]},\
            "c":{"members":["a..b","l[*]","place_id","x.y","z.y","é",""]},"d":{"audiences":["team/{id}","user/{a}","user/{a}"]},\
            "e":7,"f":{"members":"reason","audiences":[]}}
            """
        let found = problems(json)
        for expected in [
            "Late must have 1 to 64 lower-case letters, digits and _ as its name",
            "order_created has the name 'order_created', which is that of event_order_created",
            "a has the member 'extra'; allowed are names, order, state, members, audiences",
            "a has the order 'maybe'; allowed are required and optional",
            "a has the state 'new'; allowed are unchanged and kept",
            "a has the name 'ORDER_CREATED', which is that of event_order_created",
            "a has the name 'x y'; allowed are 1 to 200 ASCII characters without spaces",
            "a has the name '\(long)'; allowed are 1 to 200 ASCII characters without spaces",
            "a has the name 'q' twice", "b has the name 'event_q.v1' twice", "it has the name 'q' of both a and b",
            "c has the member 'place_id', whose name place_id is one of every payload",
            "c has the member 'z.y', whose name y another one has",
            "d has the audience 'user/{a}' twice", "e is no object",
            "f has members, which must be a list of texts that are not empty",
            "f has audiences, which must be a list of texts that are not empty",
        ] {
            #expect(found.contains(expected), "\(expected)")
        }
        for start in [
            "c has the member 'a..b'; allowed are the names", "c has the member 'l[*]'; allowed",
            "c has the member 'é'; allowed", "d has the audience 'team/{id}' is none: it must be",
        ] {
            #expect(found.contains { $0.hasPrefix(start) }, "\(start)")
        }
    }

    @Test("there are at most 32 types, of 16 names and 16 members each")
    func bounds() throws {
        func list(_ count: Int, _ name: String) -> String {
            (0..<count).map { #""\#(name)\#($0)""# }.joined(separator: ",")
        }
        func types(_ count: Int, names: Int = 16, members: Int = 16) -> String {
            let all = (0..<count).map {
                #""t\#($0)":{"names":[\#(list(names, "T\($0)_"))],"members":[\#(list(members, "m"))]}"#
            }
            return "{\(all.joined(separator: ","))}"
        }
        #expect(problems(types(32)).isEmpty)
        #expect(problems(types(33)) == ["it has 33 types; at most 32 are allowed"])
        #expect(problems(types(1, names: 17)) == ["t0 has 17 names; at most 16 are allowed"])
        #expect(problems(types(1, members: 17)) == ["t0 has 17 members; at most 16 are allowed"])
        #expect(problems(#"{"a":{"names":["x"]},"a":{"names":["y"]}}"#) == ["it has 'a' twice"])
        #expect(problems("[]") == ["it is no object"] && problems("{") == ["it is no JSON"])
        let order = (0..<16).map { #""m\#($0)":\#($0)"# }.joined(separator: ",")
        let result = extract(event("T31_15", #""id":1,"place_id":2,"# + order), rules: try rules(types(32)))
        #expect(result.notifications.first?.encoded.hasSuffix(#""m14":"14","m15":"15"}}"#) == true)
    }

    @Test("what differs is said for the hash of the rules, whatever the order of the file's types")
    func description() throws {
        func description(_ json: String) throws -> [String] {
            let rules = try rules(json)
            return rules.types.description + rules.audiences.description
        }
        let all = try [
            #"{"a":{}}"#, #"{"b":{}}"#, #"{"a":{"names":["B"]}}"#, #"{"a":{"order":"optional"}}"#,
            #"{"a":{"state":"kept"}}"#, #"{"a":{"members":["x"]}}"#, #"{"a":{"members":["y.x"]}}"#,
            #"{"a":{"members":["x","y"]}}"#, #"{"a":{"members":["y","x"]}}"#, #"{"a":{"audiences":["user/{u}"]}}"#,
            #"{"a":{},"b":{}}"#,
        ].map(description)
        #expect(Set(all).count == all.count)
        #expect(try description(#"{"b":{},"a":{}}"#) == all.last)
    }

    private func problems(_ json: String) -> [String] {
        do throws(InvalidForm) {
            _ = try EventTypes(json: Array(json.utf8))
            return []
        } catch {
            return error.problems
        }
    }
}

/// A history that knows nothing and records what it was asked.
private struct RecordedCalls: OrderHistory {
    var calls: [String] = []

    mutating func consider(_ event: OrderFacts) -> OrderVerdict {
        calls.append("consider")
        return OrderVerdict()
    }

    mutating func apply(_ event: OrderFacts) { calls.append("apply") }
}
