import JSONReader
import NotificationPayload
import TestSupport
import Testing

@testable import Notifications

@Suite("§5.4: the audiences of an event, by templates")
struct AudiencesOfEventsTests {
    private func rules(
        _ templates: String, own: [EventType: String] = [:]
    ) throws -> ExtractionRules {
        try ExtractionRules(
            audiences: AudienceTemplates(
                AudienceTemplate.list(templates), own: own.mapValues { try AudienceTemplate.list($0) }))
    }

    /// The audiences of the only notification, and how many were left out.
    private func audiences(_ json: String, _ templates: String) throws -> (names: [String]?, missing: Int) {
        let result = extract(json, rules: try rules(templates))
        #expect(
            result.notifications.isEmpty
                || result.notifications.first?.encoded == extract(json).notifications.first?.encoded)
        return (result.notifications.first?.audiences, result.notes.missingAudiences.total)
    }

    @Test("by default there are none of its own: the place's is not resolved here")
    func standard() throws {
        #expect(extract(created("")).notifications.first?.audiences == [])
        let named = try audiences(created(""), "place/{place_id}")
        #expect(named.names == [] && named.missing == 0)
    }

    @Test(
        "a member by its path: a text is trimmed, a number is one as JavaScript prints it, the last of several counts",
        arguments: [
            (#""customer_id":" c1 ""#, "user/{customer_id}", "user/c1"),
            (#""customer_id":17"#, "user/{customer_id}", "user/17"),
            (#""customer_id":"a","customer_id":"b""#, "user/{customer_id}", "user/b"),
            (#""customer":{"account":{"id":"é/ü"}}"#, "user/{customer.account.id}", "user/é/ü"),
            (#""tier":"gold""#, "channel/{tier}", "channel/gold"),
            (#""customer id":"c1""#, "user/{customer id}", "user/c1"),
            (#""place_id":"p9","place":{"id":"p2"}"#, "place/{place.id}", "place/p2"),
        ])
    func members(_ order: String, _ template: String, _ expected: String) throws {
        #expect(try audiences(created(order), template).names == [expected])
    }

    @Test("{place_id} is the place by its chain of sources, also beside others")
    func place() throws {
        let json = #"{"event_type":"ORDER_CREATED","order":{"id":"o","place":{"id":"p2"},"customer_id":"c"}}"#
        let found = try audiences(json, "user/{customer_id},place/{place_id},channel/{place_id}")
        #expect(found.names == ["user/c", "place/p2", "channel/p2"] && found.missing == 0)
    }

    @Test("each element of a list is one; those that are no ids are left out and counted")
    func lists() throws {
        let ids = try audiences(created(#""watchers":["a",7,null,{},"a"]"#), "user/{watchers[*]}")
        #expect(ids.names == ["user/a", "user/7", "user/a"] && ids.missing == 2)
        let objects = try audiences(
            created(#""people":[{"user":{"id":"a"}},{"user":{}},3]"#), "user/{people[*].user.id}")
        #expect(objects.names == ["user/a"] && objects.missing == 2)
        let none = try audiences(created(#""watchers":[]"#), "place/{place_id},user/{watchers[*]}")
        #expect(none.names == ["place/p1"] && none.missing == 1)
    }

    @Test(
        "what is no id leaves its audience out, and is counted by its template",
        arguments: [
            "", #""customer_id":null"#, #""customer_id":" ""#, #""customer_id":true"#, #""customer_id":["a"]"#,
            #""customer_id":{"id":"a"}"#, #""customer_id":"a\u0007b""#,
            #""customer_id":"\#(String(repeating: "x", count: 1_020))""#,
        ])
    func missing(_ order: String) throws {
        let result = extract(created(order), rules: try rules("place/{place_id},user/{customer_id}"))
        #expect(result.notifications.first?.audiences == ["place/p1"])
        #expect(result.notes.missingAudiences[0] == 0 && result.notes.missingAudiences[1] == 1)
    }

    @Test("an audience may have 1,024 bytes, as a subscription's; a device's is a hash")
    func longest() throws {
        let id = String(repeating: "x", count: 1_019)
        #expect(try audiences(created(#""c":"\#(id)""#), "user/{c}").names == ["user/\(id)"])
        let hash = String(repeating: "0a", count: 32)
        #expect(try audiences(created(#""device":"\#(hash)""#), "device/{device}").names == ["device/\(hash)"])
        #expect(try audiences(created(#""device":"abc""#), "device/{device}").names == nil)
    }

    @Test("without any audience it is a dead letter that names the templates, and nothing of it stays")
    func noAudience() throws {
        let result = extract(created(""), rules: try rules("user/{customer_id},channel/{tags[*].name}"))
        #expect(result.code == .noAudience)
        #expect(
            result.deadLetter?.message
                == #"order "o1" has no audience: it has no id for user/{customer_id}, channel/{tags[*].name}"#)
    }

    @Test("where a template does not need the place, an event without one is sent, with an empty place")
    func placeless() throws {
        let json = #"{"event_type":"ORDER_CREATED","order":{"id":"o1","customer_id":"c1"}}"#
        let result = extract(json, rules: try rules("place/{place_id},user/{customer_id}"))
        #expect(result.notifications.first?.audiences == ["user/c1"] && result.payload?.placeID == "")
        #expect(result.notes.missingAudiences[0] == 1)
        #expect(extract(json, rules: try rules("place/{place_id},channel/{place_id}")).code == .noPlace)
        #expect(extract(json).code == .noPlace)
    }

    @Test("a type of its own, and those that timers send, which keep the place")
    func types() throws {
        let rules = try rules("user/{customer_id}", own: [.orderStatusChanged: "channel/{customer_id}"])
        func audiences(_ type: String) -> [String]? {
            extract(
                #"{"event_type":"\#(type)","place_id":"p","order":{"id":"o","status":"s","customer_id":"c"}}"#,
                rules: rules
            ).notifications.first?.audiences
        }
        #expect(audiences("ORDER_CREATED") == ["user/c"])
        #expect(audiences("ORDER_STATUS_CHANGED") == ["channel/c"])
        #expect(audiences("TIMESLOT_STARTED") == [] && audiences("UNPICKED_ORDERS_REMINDER") == [])
    }

    @Test("each order of a list has its own; a bare id has no members")
    func listed() throws {
        let rules = try rules("user/{customer_id}")
        let orders =
            #"{"event_type":"ORDER_IDS_LISTED","orders":[{"id":"a","customer_id":1},{"id":"b","customer_id":2}]}"#
        #expect(extract(orders, rules: rules).notifications.map(\.audiences) == [["user/1"], ["user/2"]])
        let bare = #"{"event_type":"ORDER_IDS_LISTED","place_id":"p","order_ids":["a"]}"#
        #expect(extract(bare, rules: rules).code == .noAudience)
    }

    @Test("a notification has at most 1,000 audiences; an element more is a dead letter")
    func bound() throws {
        func json(_ count: Int) -> String {
            created(#""watchers":[\#((0..<count).map(String.init).joined(separator: ","))]"#)
        }
        #expect(try audiences(json(1_000), "user/{watchers[*]}").names?.count == 1_000)
        let result = extract(json(1_001), rules: try rules("user/{watchers[*]}"))
        #expect(result.code == .tooManyAudiences)
        #expect(result.deadLetter?.message == #"order "o1" has more than 1000 audiences, by user/{watchers[*]}"#)
    }

    @Test(
        "a template that cannot be one is refused, and all of them at once",
        arguments: [
            "team/{id}", "user/", "user/customer", "user/{}", "user/{a..b}", "user/{a[0]}", "user/{a[*].b[*]}",
            "user/{a}{b}", "user/x{a}", "user/{a", "", "user/{a.b.c.d.e.f.g.h.i}", "user/{a/b}",
            "user/{\(String(repeating: "x", count: 200))}",
        ])
    func refused(_ text: String) {
        #expect(throws: InvalidForm.self) { try AudienceTemplate(text) }
        let problems = problems { _ = try AudienceTemplate.list("\(text),user/{a},user/{a},who/{b}") }
        #expect(problems.count == 3 && problems.contains("'user/{a}' is there twice"), "\(problems)")
    }

    @Test("there are at most sixteen different templates of all types")
    func count() throws {
        let many = (0..<16).map { "user/{m\($0)}" }.joined(separator: ",")
        let timers: [EventType: String] = [.timeslotStarted: "user/{m1}", .unpickedOrdersReminder: "user/{m2}"]
        _ = try rules(many, own: timers)
        let problems = problems { _ = try rules(many) }
        #expect(problems == ["there are 17 different templates; at most 16 are allowed"])
    }

    @Test(
        "whatever the templates and the order, there are only audiences that a device may have",
        arguments: [1, 2] as [UInt64])
    func anyOrder(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let names = ["a", "b", "a.b", "a[*]", "a[*].b", "b.a[*]", "place_id"]
        let values = [
            "1", "null", #""x""#, #""\u0000""#, "[]", #"["y",{"b":"z"},[1]]"#, #"{"b":2,"a":["q"]}"#, "true", "-0.5e3",
        ]
        func pick(_ texts: [String]) -> String { texts.randomElement(using: &random) ?? "" }
        var codes: Set<DeadLetter.Code?> = []
        for _ in 0..<1_000 {
            let templates = Set((0..<3).map { _ in "\(pick(["place", "user", "channel", "device"]))/{\(pick(names))}" })
            let order = ["a", "b", "place_id"].map { "\"\($0)\":\(pick(values))" }.joined(separator: ",")
            let rules = try rules(templates.sorted().joined(separator: ","))
            let result = extract(#"{"event_type":"ORDER_CREATED","order":{\#(order)}}"#, rules: rules)
            codes.insert(result.code)
            for name in result.notifications.first?.audiences ?? [] {
                let isAudience = Array(name.utf8).withUnsafeBytes { Audience(of: $0) != nil }
                #expect(isAudience, "seed \(seed): \(templates) \(order): \(name)")
            }
        }
        #expect(codes.isSuperset(of: [nil, .noAudience]) && codes.isSubset(of: [nil, .noAudience, .noPlace]))
    }

    private func problems(_ body: () throws -> Void) -> [String] {
        do {
            try body()
            return []
        } catch {
            return (error as? InvalidForm)?.problems ?? ["\(error)"]
        }
    }
}
