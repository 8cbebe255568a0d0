import CarillonTesting
import NotificationPayload
import Testing

@testable import Notifications
@testable import Pipeline

@Suite("§7.1: what the pipeline writes with display=on")
struct ShownPushesTests {
    private func makeDriver(_ json: String) throws -> PipelineTestDriver {
        var configuration = try PipelineTestDriver.configuration()
        configuration.rendering.display = try DisplayTemplates(json: Array(json.utf8))
        let driver = try PipelineTestDriver(configuration)
        for locale in ["de-DE", "en"] {
            try driver.subscribe(
                Subscription(
                    audience: "place/p1", token: "token-\(locale)", platform: .fcm, app: "com.example.shop",
                    locale: locale))
        }
        return driver
    }

    /// The title and the body of each dispatch record, in the order of its device's token.
    private func shown(_ driver: borrowing PipelineTestDriver) -> [String] {
        driver.output.dispatches.map { record in
            let message = PushValue(json: record.text)?["message"]
            let notice = message?["notification"]
            return [message?["token"]?.string, notice?["title"]?.string, notice?["body"]?.string]
                .compactMap { $0 }.joined(separator: " | ")
        }.sorted()
    }

    @Test("timers and lists of orders have the texts of their types, in each device's language")
    func everyType() throws {
        var driver = try makeDriver(
            """
            {"default":"en","languages":{"en":{"order_ids_listed":{"title":"Listed","body":"{order_id}"},\
            "timeslot_started":{"title":"Started","body":"{start_time}"},\
            "unpicked_orders_reminder":{"title":"Not picked","body":"{visible_id}"}},\
            "de":{"unpicked_orders_reminder":{"title":"Offen","body":"{visible_id}"}}}}
            """)
        try driver.process(.order("o1", place: "p1", status: "pending", slot: "2025-07-07 14:00-16:00"))
        #expect(shown(driver) == ["token-de-DE", "token-en"])
        try driver.advanceClock(by: .seconds(7 * 3_600 + 900))
        #expect(
            shown(driver) == [
                "token-de-DE", "token-de-DE | Offen | N-o1", "token-de-DE | Started | 14:00", "token-en",
                "token-en | Not picked | N-o1", "token-en | Started | 14:00",
            ])

        var lists = try makeDriver(
            #"{"default":"en","languages":{"en":{"order_ids_listed":{"title":"Listed","body":"{order_id}"}}}}"#)
        try lists.process(
            SampleRecord(
                key: "k",
                value: #"{"event_id":"1","event_type":"ORDER_IDS_LISTED","place_id":"p1","order_ids":["a","b"]}"#))
        #expect(
            shown(lists) == [
                "token-de-DE | Listed | a", "token-de-DE | Listed | b", "token-en | Listed | a",
                "token-en | Listed | b",
            ])
    }

    @Test("a text that is too large in the language of one device makes the event one dead letter, before any push")
    func tooLarge() throws {
        let long = String(repeating: "x", count: 4_000)
        let json = """
            {"default":"en","languages":{"en":{"order_created":{"title":"t","body":"b"},\
            "order_ids_listed":{"title":"{order_id}","body":"b"}},\
            "de":{"order_created":{"title":"\(long)","body":"b"}},"fr":{"order_created":{"title":"\(long)","body":"b"}}}}
            """
        var driver = try makeDriver(json)
        try driver.process(.order("o1", place: "p1"))
        #expect(driver.output.dispatches.isEmpty)
        #expect(driver.output.deadLetters.map { $0.header("x-error-code") } == ["payload_too_large"])
        #expect(
            driver.output.deadLetters.first?.header("__connect.errors.exception.message")?.hasPrefix(
                "the data and notification of an FCM message have ") == true)

        // A language that none of the devices has does not count.
        try driver.unsubscribe(
            Subscription(audience: "place/p1", token: "token-de-DE", platform: .fcm, app: "com.example.shop"))
        try driver.process(.order("o2", place: "p1"))
        #expect(shown(driver) == ["token-en | t | b"])

        // Of a list, the last id is too large: nothing of it is sent.
        let ids = #"["a","\#(String(repeating: "i", count: 1_300))"]"#
        try driver.process(
            SampleRecord(
                key: "k",
                value: #"{"event_id":"1","event_type":"ORDER_IDS_LISTED","place_id":"p1","order_ids":\#(ids)}"#))
        #expect(shown(driver) == ["token-en | t | b"])
        #expect(driver.output.deadLetters.count == 2)
    }
}
