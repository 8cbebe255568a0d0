import CarillonTesting
import NotificationPayload
import Testing

@testable import Notifications
@testable import Pipeline

@Suite("§5.4: what the pipeline writes for audiences that the settings name")
struct AudiencesTests {
    private func makeDriver(
        _ templates: String, own: [EventType: String] = [:],
        _ adjust: (inout PipelineConfiguration) throws -> Void = { _ in }
    ) throws -> PipelineTestDriver {
        var configuration = try PipelineTestDriver.configuration(
            ExtractionRules(
                audiences: AudienceTemplates(
                    AudienceTemplate.list(templates), own: own.mapValues { try AudienceTemplate.list($0) })))
        try adjust(&configuration)
        return try PipelineTestDriver(configuration)
    }

    private func subscribe(_ token: String, to audience: String, _ driver: borrowing PipelineTestDriver) throws {
        try driver.subscribe(Subscription(audience: audience, token: token, platform: .fcm, app: "com.example.shop"))
    }

    /// Token and audience of each push.
    private func sent(_ driver: borrowing PipelineTestDriver) -> [String] {
        driver.output.dispatches.map { record in
            let token = PushValue(json: record.text)?["message"]?["token"]?.string ?? "?"
            return "\(token) by \(record.header("audience") ?? "?")"
        }.sorted()
    }

    @Test("the place and the customer are told; a device that is in both gets it once, by the first of the templates")
    func placeAndCustomer() throws {
        for (templates, first) in [
            ("place/{place_id},user/{customer_id}", "place/p1"), ("user/{customer_id},place/{place_id}", "user/c1"),
        ] {
            var driver = try makeDriver(templates)
            try subscribe("staff", to: "place/p1", driver)
            try subscribe("customer", to: "user/c1", driver)
            try subscribe("stranger", to: "user/c2", driver)
            for audience in ["place/p1", "user/c1"] { try subscribe("both", to: audience, driver) }
            try driver.process(.order("o1", place: "p1", orderMembers: #""customer_id":"c1""#))
            #expect(sent(driver) == ["both by \(first)", "customer by user/c1", "staff by place/p1"])
            #expect(driver.counts.notifications == 1 && driver.counts.dispatches == 3)
        }
    }

    @Test("an order without a customer tells the place, and is counted; without both it is a dead letter")
    func missing() throws {
        var driver = try makeDriver("place/{place_id},user/{customer_id}")
        try subscribe("staff", to: "place/p1", driver)
        try driver.process(.order("o1", place: "p1"), .order("o2", place: ""))
        #expect(sent(driver) == ["staff by place/p1"])
        #expect(driver.counts.missingAudiences[1] == 2 && driver.counts.missingAudiences[0] == 1)
        #expect(driver.counts.deadLetters(.noAudience) == 1)
        let letter = try #require(driver.output.deadLetters.first)
        #expect(letter.header("x-error-code") == "no_audience")
        #expect(
            letter.header("__connect.errors.exception.message")
                == #"order "o2" has no audience: it has no id for place/{place_id}, user/{customer_id}"#)
    }

    @Test("timers are the place's, whatever `audiences` says, unless their own setting says something else")
    func timers() throws {
        for (own, audience) in [([:], "place/p1"), ([EventType.timeslotStarted: "channel/{place_id}"], "channel/p1")] {
            var driver = try makeDriver("user/{customer_id}", own: own)
            for name in ["place/p1", "user/c1", "channel/p1"] { try subscribe(name, to: name, driver) }
            try driver.process(
                .order("o1", place: "p1", slot: "2025-07-07 14:00-16:00", orderMembers: #""customer_id":"c1""#))
            try driver.advanceClock(by: .seconds(7 * 3_600))
            #expect(sent(driver) == ["\(audience) by \(audience)", "user/c1 by user/c1"].sorted())
        }
    }

    @Test("an order without a place has no timers, and an event without one leaves its place as it was")
    func placeless() throws {
        var driver = try makeDriver("user/{customer_id}")
        try subscribe("staff", to: "place/p1", driver)
        try driver.process(
            .order("o1", place: "", slot: "2025-07-07 14:00-16:00", orderMembers: #""customer_id":"c1""#))
        #expect(driver.counts.suppressed(.noSubscriber) == 1 && driver.counts.dropped(.noSlot) == 1)
        try driver.process(.order("o2", place: "p1", slot: "2025-07-07 14:00-16:00", orderMembers: #""customer_id":1"#))
        try driver.process(
            .order("o2", "ORDER_STATUS_CHANGED", place: "", status: "x", orderMembers: #""customer_id":1"#))
        try driver.advanceClock(by: .seconds(7 * 3_600))
        #expect(sent(driver) == ["staff by place/p1"] && driver.output.dispatches.first?.payload?.orderID == "o2")
    }

    @Test("the limit is of the devices of all audiences together; a device that is in several gets the push once")
    func deviceLimit() throws {
        var driver = try makeDriver("user/{watchers[*]}") { $0.maxDevicesPerEvent = 5 }
        for user in 0..<4 { try subscribe("d\(user)", to: "user/\(user)", driver) }
        for user in 0..<4 { try subscribe("d0", to: "user/\(user)", driver) }
        try driver.process(.order("o1", place: "", orderMembers: #""watchers":[0,1,2,2,0]"#))
        #expect(driver.counts.dispatches == 3)
        try driver.process(.order("o2", place: "", orderMembers: #""watchers":[0,1,2,3]"#))
        #expect(driver.counts.deadLetters(.tooManyDevices) == 1 && driver.counts.dispatches == 3)
    }

    @Test("§7.1: texts by kind of audience, before those for any; a device in several gets the text of the first")
    func texts() throws {
        let texts = """
            {"default":"en","languages":{"en":{"order_created":{"title":"New","body":"{visible_id}"},\
            "order_created@user":{"title":"Thank you","body":"{visible_id}"},\
            "order_status_changed/picked":{"title":"Picked","body":""},\
            "order_status_changed@user":{"title":"On its way","body":""},\
            "order_status_changed/ready@user":{"title":"Ready","body":""}},\
            "de":{"order_created":{"title":"Neu","body":""}}}}
            """
        var driver = try makeDriver("user/{customer_id},place/{place_id}") {
            $0.rendering.display = try DisplayTemplates(json: Array(texts.utf8))
        }
        for (token, audience, locale) in [
            ("staff", "place/p1", "en"), ("customer", "user/c1", "en"), ("both", "place/p1", "en"),
            ("both", "user/c1", "en"), ("kunde", "user/c1", "de"),
        ] {
            try driver.subscribe(
                Subscription(
                    audience: audience, token: token, platform: .fcm, app: "com.example.shop", locale: locale))
        }
        func shown() -> [String] {
            let all = driver.output.dispatches.map { record in
                let message = PushValue(json: record.text)?["message"]
                return "\(message?["token"]?.string ?? "?"): \(message?["notification"]?["title"]?.string ?? "-")"
            }
            return Array(all.suffix(4)).sorted()
        }
        let customer = #""customer_id":"c1""#
        try driver.process(.order("o1", place: "p1", orderMembers: customer))
        // The language is chosen first: German has a text for any audience.
        #expect(shown() == ["both: Thank you", "customer: Thank you", "kunde: Neu", "staff: New"])
        try driver.process(.order("o1", "ORDER_STATUS_CHANGED", place: "p1", status: "picked", orderMembers: customer))
        #expect(shown() == ["both: On its way", "customer: On its way", "kunde: On its way", "staff: Picked"])
        try driver.process(.order("o1", "ORDER_STATUS_CHANGED", place: "p1", status: "ready", orderMembers: customer))
        #expect(shown() == ["both: Ready", "customer: Ready", "kunde: Ready", "staff: -"])
    }

    @Test("the hash of the rules has the templates, and their order, only where they are not the default")
    func hash() throws {
        func hash(_ templates: String, own: [EventType: String] = [:]) throws -> String {
            try makeDriver(templates, own: own).configuration.rulesHash
        }
        let hashes = [
            try makeDriver("place/{place_id}").configuration.rulesHash, try hash("user/{a},place/{place_id}"),
            try hash("place/{place_id},user/{a}"), try hash("place/{place_id}", own: [.orderCreated: "user/{a}"]),
            try hash("place/{place_id}", own: [.orderIDsListed: "user/{a}"]),
        ]
        #expect(Set(hashes).count == hashes.count)
        #expect(try hash("place/{place_id}", own: [.timeslotStarted: "place/{place_id}"]) == hashes[0])
    }
}
