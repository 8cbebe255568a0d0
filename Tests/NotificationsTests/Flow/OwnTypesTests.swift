import CarillonTesting
import NotificationPayload
import Testing

@testable import Notifications
@testable import Pipeline

@Suite("§5.7: what the pipeline writes for event types of your own")
struct OwnTypesTests {
    private func makeDriver(
        _ types: String, _ adjust: (inout PipelineConfiguration, EventTypes) throws -> Void = { _, _ in }
    ) throws -> PipelineTestDriver {
        let types = try EventTypes(json: Array(types.utf8))
        var configuration = try PipelineTestDriver.configuration(
            ExtractionRules(audiences: AudienceTemplates([.place], types: types)))
        configuration.rendering.optionalHeaders = [.eventType]
        try adjust(&configuration, types)
        let driver = try PipelineTestDriver(configuration)
        try driver.subscribe(
            Subscription(audience: "place/p1", token: "t", platform: .fcm, app: "com.example.shop", locale: "en"))
        return driver
    }

    private func types(_ driver: borrowing PipelineTestDriver) -> [String] {
        driver.output.dispatches.compactMap { $0.payload?.eventType }
    }

    @Test("the push has the type in its payload and in its header, and the members after document 1's")
    func push() throws {
        var driver = try makeDriver(#"{"order_delayed":{"members":["delay_minutes"]}}"#)
        try driver.process(.order("o1", "ORDER_DELAYED", place: "p1", orderMembers: #""delay_minutes":20"#))
        let push = try #require(driver.output.dispatches.first)
        #expect(push.header("event-type") == "event_order_delayed" && push.header("x-degraded") == nil)
        let data = PushValue(json: push.text)?["message"]?["data"]?["default"]?.string ?? ""
        #expect(data.hasSuffix(#""place_id":"p1","delay_minutes":"20"}}"#))
    }

    @Test("a type that keeps the state moves the order's slot and status, and with them its timers")
    func kept() throws {
        for (state, expected) in [
            ("kept", ["event_order_created", "event_late", "event_timeslot_started"]),
            ("unchanged", ["event_order_created", "event_late"]),
        ] {
            var driver = try makeDriver(#"{"late":{"state":"\#(state)"}}"#)
            try driver.process(.order("o1", place: "p1", status: "cancelled", slot: "2025-07-07 09:00-10:00"))
            try driver.process(.order("o1", "LATE", place: "p1", status: "picked", slot: "2025-07-07 14:00-16:00"))
            try driver.advanceClock(by: .seconds(3 * 3_600))
            #expect(types(driver).count == 2, "\(state)")
            try driver.advanceClock(by: .seconds(5 * 3_600))
            #expect(types(driver) == expected, "\(state)")
        }
    }

    @Test("the status before a change is that of a type that keeps the state")
    func previousStatus() throws {
        for (state, expected) in [("kept", "waiting"), ("unchanged", "pending")] {
            var driver = try makeDriver(#"{"late":{"state":"\#(state)"}}"#)
            try driver.process(
                .order("o1", place: "p1", status: "pending"), .order("o1", "LATE", place: "p1", status: "waiting"),
                .order("o1", "ORDER_STATUS_CHANGED", place: "p1", status: "picked"))
            #expect(driver.output.dispatches.last?.payload?.statusChange?.previous == expected, "\(state)")
        }
    }

    @Test("a duplicate of a type that keeps the state is not sent; of one that changes nothing, nothing is a duplicate")
    func duplicates() throws {
        for (state, count) in [("kept", 1), ("unchanged", 2)] {
            var driver = try makeDriver(#"{"late":{"state":"\#(state)"}}"#)
            for _ in 0..<2 { try driver.process(.order("o1", "LATE", place: "p1", eventID: "e1")) }
            #expect(driver.output.dispatches.count == count, "\(state)")
            #expect(Set(driver.output.dispatches.map { $0.payload?.messageID }).count == 1)
        }
    }

    @Test("a dead letter of a type that keeps the state changes nothing")
    func deadLetter() throws {
        var driver = try makeDriver(#"{"late":{"state":"kept","members":["reason"]}}"#)
        let long = String(repeating: "x", count: 2_000)
        try driver.process(
            .order("o1", place: "p1", status: "pending"),
            .order("o1", "LATE", place: "p1", status: "waiting", orderMembers: #""reason":"\#(long)""#),
            .order("o1", "ORDER_STATUS_CHANGED", place: "p1", status: "picked"))
        #expect(driver.counts.deadLetters(.payloadTooLarge) == 1)
        #expect(driver.output.dispatches.last?.payload?.statusChange?.previous == "pending")
    }

    @Test("§7.1: a text of its own type may have the members that it adds; a missing one is nothing")
    func texts() throws {
        let texts = #"""
            {"default":"en","languages":{"en":{"late":{"title":"{visible_id}: {reason}","body":"{delay_minutes} min {new_status}"},
            "late@user":{"title":"Sorry","body":"{reason}"},"order_created":{"title":"New","body":""}}}}
            """#
        var driver = try makeDriver(#"{"early":{},"late":{"members":["delay_minutes","reason"]}}"#) {
            $0.rendering.display = try DisplayTemplates(json: Array(texts.utf8), own: $1.fields)
        }
        try driver.process(
            .order("o1", "LATE", place: "p1", orderMembers: #""reason":"\"é\" \\","delay_minutes":5"#),
            .order("o2", "LATE", place: "p1"), .order("o3", "EARLY", place: "p1"), .order("o4", place: "p1"))
        let shown = driver.output.dispatches.map { record in
            let notice = PushValue(json: record.text)?["message"]?["notification"]
            return notice.map { "\($0["title"]?.string ?? "")|\($0["body"]?.string ?? "")" } ?? "silent"
        }
        #expect(shown == [#"N-o1: "é" \|5 min "#, "N-o2: | min ", "silent", "New|"])
    }

    @Test("the hash of the rules has the types where there are any")
    func hash() throws {
        func hash(_ types: String) throws -> String { try makeDriver(types).configuration.rulesHash }
        let none = try PipelineTestDriver.configuration(ExtractionRules()).rulesHash
        let hashes = try [hash(#"{"a":{}}"#), hash(#"{"a":{"state":"kept"}}"#), hash(#"{"a":{"members":["m"]}}"#)]
        let headers = try hash("{}")
        #expect(Set(hashes + [headers]).count == 4)
        var usual = try PipelineTestDriver.configuration(ExtractionRules())
        usual.rendering.optionalHeaders = [.eventType]
        #expect(usual.rulesHash == headers && none != headers)
    }
}
