import NotificationPayload
import Testing

@testable import Notifications

/// The messages of docs/rules.md §14.5, read from the page.
@Suite("The examples of broadcasts")
struct BroadcastExamplesTests {
    private func expect(
        _ broadcast: BroadcastNotification, _ settings: RenderSettings = RenderSettings(), locale: String? = nil,
        isExample index: Int
    ) throws {
        let rendered = try RenderedBroadcast.all(broadcast, settings, to: RenderedBroadcast.devices([locale]))
        let fcm = try RulesPage.lines(of: "14.5", beginningWith: #"{"message":{"token""#)
        let apns = try RulesPage.lines(of: "14.5", beginningWith: #"{"device_token":"#)
        try #require(fcm.count > index && apns.count == fcm.count)
        #expect(rendered.map(\.value) == [fcm[index], apns[index]])
    }

    private static let document: BroadcastNotification = {
        let texts = ["en", "hi"].map { language in
            Broadcast.Text(
                language: language, title: "Welcome to Sunbird!",
                message:
                    "Congratulations on downloading Sunbird, every child's best friend in their learning journey.")
        }
        return .display(texts, poster: "https://example.com/poster.png", channel: "channel-id")
    }()

    @Test("§14.5: document 4's display payload, data only on Android and an alert on iOS")
    func display() throws {
        try expect(Self.document, isExample: 0)
    }

    @Test("§14.5: the same in the device's language")
    func device() throws {
        try expect(Self.document, RenderSettings(broadcastLanguage: .device), locale: "hi-IN", isExample: 1)
    }

    @Test("§14.5: document 4's non-display payload, silent on both; the language does not matter")
    func nonDisplay() throws {
        let broadcast = BroadcastNotification.nonDisplay("free form string data")
        try expect(broadcast, isExample: 2)
        try expect(broadcast, RenderSettings(broadcastLanguage: .device), isExample: 2)
    }
}
