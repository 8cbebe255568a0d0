import NotificationPayload
import StageSupport
import Testing

@testable import Notifications

/// What one broadcast becomes for a device.
struct RenderedBroadcast {
    let platform: Platform
    let locale: String
    let key: String
    let value: String
    let headers: [String]

    /// The devices of the examples in docs/rules.md, with these locales.
    static func devices(_ locales: [String?] = [nil]) -> [Subscription] {
        locales.enumerated().flatMap { index, locale in
            let number = index == 0 ? "" : "\(index)"
            return [
                Subscription(
                    audience: "channel/General", token: "made-up-token\(number)", platform: .fcm,
                    app: "com.example.shop", locale: locale),
                Subscription(
                    audience: "channel/General", token: "0a1b2c3d\(number.isEmpty ? "" : "0\(index)")", platform: .apns,
                    app: "com.example.shop", locale: locale),
            ]
        }
    }

    /// The record for each device, FCM's first.
    static func all(
        _ broadcast: BroadcastNotification, by renderer: inout BroadcastRenderer,
        to devices: [Subscription] = devices(), headers: [EventHeader] = []
    ) throws -> [RenderedBroadcast] {
        let record = EventRecord(partition: 0, offset: 7, timestamp: nil, key: nil, value: nil)
        let problem = renderer.begin(broadcast, from: record, of: "notifications.broadcasts", headers: headers)
        #expect(problem == nil)
        let table = SubscriptionTable.inMemory()
        try table.apply(devices.map { TableRecord($0) })
        var reader = try table.makeReader()
        try reader.begin()
        var list = DeviceList()
        list.removeAll(audiences: 1)
        return try withUTF8("channel/General") { audience in
            try reader.addDevices(of: audience, as: 0, limit: 1_000, to: &list)
            return list.devices.map { device in
                let record = renderer.render(device, audience: audience)
                return RenderedBroadcast(
                    platform: device.platform, locale: text(device.locale), key: text(record.key),
                    value: text(record.value),
                    headers: record.headers.map { text($0.name) + ": " + ($0.value.map(text) ?? "nil") })
            }.sorted { ($0.platform == .fcm ? 0 : 1, $0.key) < ($1.platform == .fcm ? 0 : 1, $1.key) }
        }
    }

    static func all(
        _ broadcast: BroadcastNotification, _ settings: RenderSettings = RenderSettings(),
        to devices: [Subscription] = devices(), headers: [EventHeader] = []
    ) throws -> [RenderedBroadcast] {
        var renderer = BroadcastRenderer(settings: settings)
        return try all(broadcast, by: &renderer, to: devices, headers: headers)
    }

    private static func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func withUTF8<Result>(
        _ text: String, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        var text = text
        return try text.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
    }
}

extension BroadcastNotification {
    /// A display broadcast with a text in each language, published at the time of the examples and valid for 34.646 s.
    static func display(
        _ texts: [Broadcast.Text], kind: Broadcast.Display.Kind = .general, isCancellable: Bool = true,
        poster: String? = nil, channel: String? = nil
    ) -> BroadcastNotification {
        BroadcastNotification(
            notificationID: "1235", messageID: "msg-1751875337000-web7dzoh8", audience: "channel/General",
            channel: channel, publishedAt: requested,
            expiry: .lifetime(milliseconds: 34_646),
            content: .display(
                Broadcast.Display(kind: kind, isCancellable: isCancellable, poster: poster, texts: texts)))
    }

    static func nonDisplay(_ data: String?, kind: Broadcast.NonDisplay.Kind = .enableFeature) -> BroadcastNotification {
        BroadcastNotification(
            notificationID: "1235", messageID: "msg-1751875337000-14vkdjef3", audience: "channel/General",
            channel: nil, publishedAt: requested, expiry: .lifetime(milliseconds: 34_646),
            content: .nonDisplay(Broadcast.NonDisplay(kind: kind, data: data)))
    }
}
