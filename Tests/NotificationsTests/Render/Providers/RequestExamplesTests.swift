import Testing

@testable import Notifications

/// The messages of docs/rules.md §9.2 and §10.1, read from the page.
@Suite("The examples of requests")
struct RequestExamplesTests {
    private func expect(
        _ sample: SampleRequest, _ settings: RenderSettings = RenderSettings(), isExample index: Int, of title: String
    ) throws {
        let rendered = try RenderedRequest(sample, settings)
        let fcm = try RulesPage.lines(of: title, beginningWith: #"{"message":{"token""#)
        let apns = try RulesPage.lines(of: title, beginningWith: #"{"device_token":"#)
        try #require(fcm.count > index && apns.count == fcm.count)
        #expect(rendered.fcm == fcm[index])
        #expect(rendered.apns == apns[index])
    }

    @Test("§9.2: an app notification with an image, a fixed pair and a number")
    func app() throws {
        var sample = SampleRequest(content: .app, messageID: "msg-1751875337000-8k6aekidr")
        sample.title = "42"
        sample.body = "The purpose of life"
        sample.image = "https://example.com/42.jpg"
        sample.clickAction = "FLUTTER_NOTIFICATION_CLICK"
        sample.custom = [
            ("type", .string("DatevSuccess")), ("attempts", .string("2")),
            ("click_action", .string("FLUTTER_NOTIFICATION_CLICK")), ("view", .string("datev_success")),
        ]
        try expect(sample, isExample: 0, of: "9.2")
    }

    @Test("§10.1: a visible message with everything, and its badge also for FCM")
    func visible() throws {
        var sample = SampleRequest(messageID: "msg-1751875337000-sgei4bhk4", expiresAt: requested + 3_600_000)
        sample.priority = .normal
        sample.collapseKey = "bills"
        sample.title = "Ada/Öl"
        sample.body = "\"42\""
        sample.badge = 3
        sample.sound = "default"
        sample.icon = "ic_stat"
        sample.category = "BILL"
        sample.titleKey = "T"
        sample.titleArguments = ["a"]
        sample.bodyKey = "B"
        sample.bodyArguments = ["b", ""]
        sample.custom = [
            ("k", .string("v")), ("n", .number("1.5")), ("b", .bool(true)),
            ("o", .object(["x": .array([.number("1"), .null])])), ("order_type", .string("food")),
            ("order_id", .string("12345")),
        ]
        try expect(sample, RenderSettings(sendsNotificationCount: true), isExample: 0, of: "10.1")
    }

    @Test("§10.1: a silent message, of whose texts nothing is left")
    func silent() throws {
        var sample = SampleRequest(messageID: "msg-1751875337000-3ilyuk9em", isSilent: true)
        sample.collapseKey = "sync"
        sample.title = "not shown"
        sample.badge = 1
        sample.custom = [("sync", .string("bills")), ("since", .number("1751875337000"))]
        try expect(sample, isExample: 1, of: "10.1")
    }
}
