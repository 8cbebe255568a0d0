import NotificationPayload
import StageSupport
import Testing

@testable import Notifications

@Suite("Rendered broadcasts (docs/rules.md §14.2, §14.3)")
struct BroadcastRendererTests {
    private static let texts = ["en", "de", "de-AT", "hi"].map {
        Broadcast.Text(language: $0, title: "title \($0)", message: "message \($0)")
    }

    /// What a member of every message says, by the locales of the devices.
    private func shown(
        _ language: RenderSettings.BroadcastLanguage, _ platform: Platform, _ path: String
    ) throws -> [String: String?] {
        let locales = ["de-at", "de_CH", "fr", nil, "hi"]
        let rendered = try RenderedBroadcast.all(
            .display(Self.texts), RenderSettings(broadcastLanguage: language), to: RenderedBroadcast.devices(locales))
        #expect(rendered.count == 10)
        let found = try rendered.filter { $0.platform == platform }.map { ($0.locale, try values(of: $0.value)[path]) }
        return Dictionary(uniqueKeysWithValues: found)
    }

    @Test("§14.3: each device sees its own language, its primary subtag's or the first, whoever was before it")
    func languages() throws {
        let expected = [
            "de-at": "\"title de-AT\"", "de_CH": "\"title de\"", "fr": "\"title en\"", "": "\"title en\"",
            "hi": "\"title hi\"",
        ]
        #expect(try shown(.all, .fcm, "message.apns.payload.aps.alert.title") == expected)
        #expect(try shown(.all, .apns, "payload.aps.alert.title") == expected)
        #expect(try shown(.device, .fcm, "message.notification.title") == expected)
        #expect(try shown(.device, .apns, "payload.aps.alert.title") == expected)
    }

    @Test("§14.2: the data has all languages, or the device's alone")
    func fields() throws {
        let one = #""[{\"language\":\"de\",\"title\":\"title de\",\"msg\":\"message de\"}]""#
        #expect(try shown(.device, .fcm, "message.data.fields")["de_CH"] == one)
        #expect(try shown(.device, .apns, "payload.fields")["de_CH"] == one)
        let all = Set(try shown(.all, .fcm, "message.data.fields").values)
        #expect(all == Set(try shown(.all, .apns, "payload.fields").values))
        let texts = try #require(all.first.flatMap { $0 }.flatMap { PushValue(json: $0)?.string })
        #expect(all.count == 1 && PushValue(json: texts)?.array?.count == 4)
    }

    @Test("§14.2: on Android a broadcast is data only, except with the device's language")
    func androidForms() throws {
        let text = [Self.texts[0]]
        let all = try values(of: try RenderedBroadcast.all(.display(text))[0].value)
        #expect(!all.keys.contains { $0.hasPrefix("message.notification") || $0.hasPrefix("message.android.n") })
        #expect(!all.keys.contains { $0.contains("mutable-content") || $0.contains("fcm_options") })
        let device = RenderSettings(broadcastLanguage: .device)
        let one = try values(of: try RenderedBroadcast.all(.display(text), device)[0].value)
        #expect(one["message.android.notification.tag"] == "\"msg-1751875337000-web7dzoh8\"")
        #expect(one["message.notification.image"] == nil && !one.keys.contains { $0.contains("apns.payload") })
    }

    @Test(
        "§14.2: lifetimes count from the publication, and no byte depends on a clock",
        arguments: [
            (.lifetime(milliseconds: 999), "0s", "1751875337"), (.lifetime(milliseconds: 1_999), "1s", "1751875338"),
            (.lifetime(milliseconds: 2_419_200_000), "2419200s", "1754294537"),
            (.instant(milliseconds: requested.milliseconds + 60_000), "60s", "1751875397"),
            (.instant(milliseconds: requested.milliseconds - 1), "0s", "1751875336"),
        ] as [(Broadcast.Expiry, String, String)])
    func lifetimes(expiry: Broadcast.Expiry, timeToLive: String, expiration: String) throws {
        var broadcast = BroadcastNotification.display([Self.texts[0]])
        broadcast.expiry = expiry
        let rendered = try RenderedBroadcast.all(broadcast)
        let fcm = try values(of: rendered[0].value)
        #expect(fcm["message.android.ttl"] == "\"\(timeToLive)\"")
        #expect(fcm["message.apns.headers.apns-expiration"] == "\"\(expiration)\"")
        #expect(try values(of: rendered[1].value)["headers.apns-expiration"] == "\"\(expiration)\"")
        #expect(rendered[0].headers.contains("expires-at: \(broadcast.expiresAt.milliseconds)"))
    }

    @Test(
        "the headers are those of a request: source, audience, type and app if asked for, and the record's traceparent")
    func headers() throws {
        let all = RenderSettings(optionalHeaders: Set(RenderSettings.OptionalHeader.allCases))
        let trace: StaticString = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let own = [
            EventHeader(name: UnsafeRawBufferPointer("x"), value: nil),
            EventHeader(name: DispatchHeader.traceparent.bytes, value: UnsafeRawBufferPointer(trace)),
        ]
        let rendered = try RenderedBroadcast.all(.nonDisplay(nil), all, headers: own)
        #expect(
            rendered[1].headers == [
                "message-id: msg-1751875337000-14vkdjef3", "platform: apns", "source: notifications.broadcasts/0/7",
                "expires-at: 1751875371646", "audience: channel/General", "event-type: broadcast",
                "app: com.example.shop", "traceparent: \(trace)",
            ])
        #expect(try RenderedBroadcast.all(.nonDisplay(nil))[0].headers.count == 5)
        #expect(rendered[0].key.count == 64 && rendered[0].key != rendered[1].key)
    }

    @Test("a broadcast leaves nothing behind in the next one")
    func next() throws {
        let devices = RenderedBroadcast.devices(["de", nil])
        var renderer = BroadcastRenderer(settings: RenderSettings())
        let record = EventRecord(partition: 0, offset: 7, timestamp: nil, key: nil, value: nil)
        let large = BroadcastNotification.nonDisplay(String(repeating: "x", count: 100_000))
        for broadcast in [BroadcastNotification.display(Self.texts), .nonDisplay("b"), .display([Self.texts[3]])] {
            #expect(renderer.begin(large, from: record, of: "t", headers: []) != nil)
            let after = try RenderedBroadcast.all(broadcast, by: &renderer, to: devices)
            let alone = try RenderedBroadcast.all(broadcast, to: devices)
            #expect(after.map(\.value) == alone.map(\.value) && after.map(\.headers) == alone.map(\.headers))
        }
    }
}
