import NotificationPayload
import StageSupport
import TestSupport
import Testing

@testable import Notifications

/// What is rendered for a request arrives on the phone as what the request says.
@Suite("Rendered requests, read by the library for phones")
struct RequestReadingTests {
    private static let count = 3_000

    @Test("each platform reads the request back", arguments: [false, true])
    func roundTrip(sendsNotificationCount: Bool) throws {
        var random = RandomRequests(seed: try RunSeed.value())
        let samples = (0..<Self.count).map { _ in random.next() }
        var batch = EventBatch(.requests, topic: "notifications.requests")
        for sample in samples { batch.add(sample) }
        var renderer = MessageRenderer(settings: RenderSettings(sendsNotificationCount: sendsNotificationCount))
        let rendered = try RenderedRequest.all(of: batch, by: &renderer)
        try #require(rendered.count == samples.count)
        for (sample, message) in zip(samples, rendered) {
            let fcm = try #require(PushValue(json: message.fcm)?["message"])
            #expect(Phone.onAndroid(fcm) == Self.expected(sample, .android), "\(message.fcm)")
            #expect(
                Phone.onIOS(fcm) == Self.expected(sample, .iOS(hasBadge: sendsNotificationCount)), "\(message.fcm)")
            let payload = try #require(PushValue(json: message.apns)?["payload"])
            #expect(ReceivedNotification(json: payload.json) == Self.expected(sample, .apns), "\(message.apns)")
        }
    }

    private enum Way {
        case android
        case iOS(hasBadge: Bool)
        case apns
    }

    /// The request as its notification arrives: each provider has some fields of its own (docs/rules.md §10).
    private static func expected(_ sample: SampleRequest, _ way: Way) -> ReceivedNotification {
        let isVisible = !sample.isSilent
        func shown<Value>(_ value: Value?) -> Value? { isVisible ? value : nil }
        switch sample.content {
        case .app:
            let pairs = sample.custom.map { ($0.key, $0.value.text ?? "") }
            return .app(
                AppNotification(
                    type: pairs.first?.1 ?? "", data: Dictionary(uniqueKeysWithValues: pairs),
                    title: sample.title, body: sample.body, imageURL: sample.image, messageID: sample.messageID))
        case .message:
            let extras = Dictionary(uniqueKeysWithValues: sample.custom)
            var message = PushMessage(
                title: shown(sample.title), body: shown(sample.body), sound: shown(sample.sound),
                extras: extras.compactMapValues { $0.text.map(PushValue.string) }, messageID: sample.messageID)
            switch way {
            case .android:
                message.icon = shown(sample.icon)
                message.category = shown(sample.category ?? sample.collapseKey ?? sample.messageID)
                message.collapseKey = sample.collapseKey
            case .iOS(let hasBadge):
                message.badge = hasBadge ? shown(sample.badge).map(Int.init) : nil
                message.category = shown(sample.category)
                message.collapseKey = shown(sample.collapseKey)
            case .apns:
                message.badge = shown(sample.badge).map(Int.init)
                message.category = shown(sample.category)
                message.collapseKey = shown(sample.collapseKey)
                message.extras = extras
            }
            return .message(message)
        }
    }
}
