import NotificationPayload
import StageSupport
import Testing

@testable import Notifications

@Suite("The limits of requests")
struct RequestLimitsTests {
    /// A message with this many bytes in one extra, and what was wrong with it for these platforms.
    private func problem(
        _ count: Int, of text: String = "x", _ platforms: PlatformSet,
        _ change: (inout SampleRequest) -> Void = { _ in }
    ) -> DeadLetter? {
        var sample = SampleRequest()
        sample.titleKey = "K"
        sample.custom = [("k", .string(String(repeating: text, count: count)))]
        change(&sample)
        var batch = EventBatch(.requests, topic: "notifications.requests")
        batch.add(sample)
        var renderer = MessageRenderer(settings: RenderSettings())
        return renderer.begin(batch.notifications[0], in: batch, platforms: platforms)
    }

    private static let fcm = PlatformSet(.fcm)
    private static let apns = PlatformSet(.apns)
    /// `message_id` and its value, and the extra's key.
    private static let ownData = 10 + 27 + 1

    @Test("§1.3: of FCM's message, keys and values of data and the members of notification count, unescaped")
    func fcm() {
        let room = 4_096 - Self.ownData
        #expect(problem(room, Self.fcm) == nil)
        #expect(problem(room, of: "\"", Self.fcm) == nil)
        let sentence = "the data and notification of an FCM message have 4097 bytes, at most 4096 are allowed"
        let larger = problem(room + 1, Self.fcm)
        #expect(larger?.code == .payloadTooLarge && larger?.message == sentence)
        func show(_ sample: inout SampleRequest) {
            sample.title = "é"
            sample.body = "b\n"
            sample.image = "https://a"
            sample.sound = "not counted"
            sample.icon = "not counted"
        }
        let shown = 5 + 2 + 4 + 2 + 5 + 9
        #expect(problem(room - shown, Self.fcm, show) == nil)
        #expect(problem(room - shown + 1, Self.fcm, show)?.message == sentence)
        #expect(
            problem(room, Self.fcm) { sample in
                show(&sample)
                sample.isSilent = true
            } == nil, "nothing is shown")
    }

    @Test("§2.3: of APNs's message, the payload's JSON counts as it is sent")
    func apns() {
        let frame = #"{"aps":{"alert":{"title-loc-key":"K"}},"k":"","message_id":"msg-1751875337000-sgei4bhk4"}"#.utf8
            .count
        #expect(problem(4_096 - frame, Self.apns) == nil)
        let larger = problem(4_097 - frame, Self.apns)
        #expect(larger?.code == .payloadTooLarge)
        #expect(larger?.message == "the payload of an APNs message has 4097 bytes, at most 4096 are allowed")
        #expect(problem((4_096 - frame) / 2, of: "\"", Self.apns) == nil)
        #expect(problem((4_096 - frame) / 2 + 1, of: "\"", Self.apns) != nil)
        let alert = #""title":"é","sound":"S","#.utf8.count
        func show(_ sample: inout SampleRequest) {
            sample.title = "é"
            sample.sound = "S"
        }
        #expect(problem(4_096 - frame - alert, Self.apns, show) == nil)
        #expect(problem(4_097 - frame - alert, Self.apns, show)?.message == larger?.message)
        let silent = #"{"aps":{"content-available":1},"k":"","message_id":"msg-1751875337000-sgei4bhk4"}"#.utf8.count
        #expect(problem(4_096 - silent, Self.apns) { $0.isSilent = true } == nil)
        #expect(problem(4_097 - silent, Self.apns) { $0.isSilent = true }?.message == larger?.message)
    }

    @Test("§8.7: only the limits of the providers of its devices count")
    func platforms() {
        let quotes = (count: 2_040, text: "\"")
        #expect(problem(quotes.count, of: quotes.text, Self.fcm) == nil)
        #expect(problem(quotes.count, of: quotes.text, Self.apns)?.message.contains("APNs") == true)
        #expect(problem(quotes.count, of: quotes.text, .all)?.message.contains("APNs") == true)
        #expect(problem(quotes.count, of: quotes.text, []) == nil)
        #expect(problem(5_000, .all)?.message.contains("FCM") == true)
    }

    @Test("a request that is too large leaves nothing behind in the next one")
    func next() throws {
        var batch = EventBatch(.requests, topic: "notifications.requests")
        var large = SampleRequest()
        large.custom = [("k", .string(String(repeating: "x", count: 100_000)))]
        batch.add(large)
        var small = EventBatch(.requests, topic: "notifications.requests")
        small.add(SampleRequest())
        var renderer = MessageRenderer(settings: RenderSettings())
        #expect(renderer.begin(batch.notifications[0], in: batch) != nil)
        #expect(renderer.begin(batch.notifications[0], in: batch, platforms: Self.apns) != nil)
        let after = try RenderedRequest.all(of: small, by: &renderer)
        let alone = try RenderedRequest(SampleRequest())
        #expect(after.map(\.fcm) == [alone.fcm] && after.map(\.apns) == [alone.apns])
    }
}
