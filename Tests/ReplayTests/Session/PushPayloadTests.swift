import Pipeline
import Testing

@testable import Notifications
@testable import Replay

@Suite("What a dispatch record says")
struct PushPayloadTests {
    @Test(
        "the token is found in the message of every platform, so that it is never shown", arguments: Platform.allCases)
    func token(platform: Platform) throws {
        var batch = EventBatch(.orders, topic: "orders.events")
        batch.records.append(EventRecord(partition: 0, offset: 0, timestamp: nil, key: nil, value: nil))
        batch.notifications.append(
            Notification(
                record: 0, eventTime: 0, messageID: .empty, payload: .empty, payloadSize: 0,
                kind: .order(
                    Notification.Order(
                        eventType: .known(.orderCreated), placeID: .empty, orderID: .empty,
                        sources: FieldSources(timeSlot: .fallback, date: .fallback, orderID: .fallback),
                        orderType: nil, isDegraded: false))))
        var list = DeviceList()
        list.removeAll(audiences: 1)
        list.append(token: "00fc13ad", platform: platform, app: "com.example.shop", to: 0)
        var renderer = MessageRenderer(settings: RenderSettings())
        let problem = renderer.begin(batch.notifications[0], in: batch, platforms: PlatformSet(platform))
        #expect(problem == nil)
        let message = renderer.render(list.devices[0], audience: UnsafeRawBufferPointer(start: nil, count: 0))
        let payload = try #require(PushPayload(value: Array(message.value)))
        #expect(payload.tokens == ["00fc13ad"])
        let header = message.headers.first { $0.name.elementsEqual("platform".utf8) }?.value
        #expect(header.map { String(decoding: $0, as: UTF8.self) } == platform.rawValue)
    }
}
