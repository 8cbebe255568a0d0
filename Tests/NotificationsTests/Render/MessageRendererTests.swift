import StageSupport
import Testing

@testable import Notifications

@Suite("Provider messages")
struct MessageRendererTests {
    /// A message as text.
    struct Rendered: Equatable {
        var key: String
        var value: String
        var headers: [String]
    }

    private func render(
        _ subscriptions: [Subscription], _ batch: borrowing EventBatch, _ settings: RenderSettings = RenderSettings()
    ) throws -> [Rendered] {
        var fanOut = try makeFanOut(subscriptions)
        var renderer = MessageRenderer(settings: settings)
        _ = try fanOut.resolve(batch, from: 0, limit: 1_000)
        var rendered: [Rendered] = []
        for notification in batch.notifications.indices {
            let recipients = fanOut.recipients(of: notification, in: batch)
            let problem = renderer.begin(
                batch.notifications[notification], in: batch, platforms: recipients.platforms)
            #expect(problem == nil)
            for position in recipients.devices {
                let device = fanOut.recipient(position)
                let message = renderer.render(device, audience: fanOut.audience(of: device))
                rendered.append(
                    Rendered(
                        key: String(decoding: message.key, as: UTF8.self),
                        value: String(decoding: message.value, as: UTF8.self),
                        headers: message.headers.map { header in
                            let value = header.value.map { String(decoding: $0, as: UTF8.self) } ?? "nil"
                            return String(decoding: header.name, as: UTF8.self) + ": " + value
                        }))
            }
        }
        return rendered
    }

    @Test("§7 order: the FCM body byte for byte, with the deep link's two keys beside `default`")
    func fcmBody() throws {
        var batch = EventBatch()
        batch.add(payload: #"{"data":{"url":"a/b","name":"Zoë \"Z\""}}"#, orderType: .food)
        let rendered = try render([.fcm("token-1")], batch)
        #expect(
            rendered.first?.value
                == [
                    #"{"message":{"token":"token-1","data":{"#,
                    #""default":"{\"data\":{\"url\":\"a/b\",\"name\":\"Zoë \\\"Z\\\"\"}}","#,
                    #""order_type":"food","order_id":"12345"},"#,
                    #""android":{"priority":"high","ttl":"3600s"},"#,
                    #""apns":{"headers":{"apns-push-type":"background","apns-priority":"5","apns-expiration":"1751900400"},"#,
                    #""payload":{"aps":{"content-available":1}}}}}"#,
                ].joined())
        #expect(rendered.first?.key == Subscription.fcm("token-1").tokenHash)
    }

    @Test("§7: order_type and order_id only where the order has a type")
    func noDeepLink() throws {
        var batch = EventBatch()
        batch.add(payload: "{}")
        let rendered = try render([.fcm("token-1")], batch)
        #expect(
            rendered.first?.value.hasPrefix(#"{"message":{"token":"token-1","data":{"default":"{}"},"android""#) == true
        )
    }

    @Test("§7 APNs direct: the value byte for byte")
    func apnsBody() throws {
        var batch = EventBatch()
        batch.add(payload: #"{"data":{}}"#)
        let rendered = try render([.apns("00fc13ad")], batch)
        #expect(
            rendered.first?.value
                == [
                    #"{"device_token":"00fc13ad","environment":"production","#,
                    #""headers":{"apns-topic":"com.example.App","apns-push-type":"background","apns-priority":"5","#,
                    #""apns-expiration":"1751900400","apns-collapse-id":"msg-1751896800000-vsgxl8m52"},"#,
                    #""payload":{"aps":{"content-available":1},"default":"{\"data\":{}}"}}"#,
                ].joined())
    }

    @Test("§5.5: an APNs message has both keys of the deep link beside aps, as strings")
    func apnsDeepLink() throws {
        var batch = EventBatch()
        batch.add(payload: "{}", orderID: "77", orderType: .d2d)
        let rendered = try render([.apns("00fc13ad")], batch)
        #expect(
            rendered.first?.value.hasSuffix(
                #""payload":{"aps":{"content-available":1},"default":"{}","order_type":"d2d","order_id":"77"}}"#)
                == true)
    }

    @Test("a message to an APNs device of the development environment names that environment")
    func development() throws {
        var batch = EventBatch()
        batch.add()
        var subscription = Subscription.apns("AB12")
        subscription.environment = .development
        let rendered = try render([subscription], batch)
        #expect(rendered.first?.value.contains(#""device_token":"AB12","environment":"development""#) == true)
    }

    @Test("the headers of docs/code.md §4, in their order")
    func headers() throws {
        var batch = EventBatch()
        batch.add()
        #expect(
            try render([.fcm("t")], batch).first?.headers == [
                "message-id: msg-1751896800000-vsgxl8m52", "platform: fcm", "source: orders.events/3/4711",
                "expires-at: 1751900400000", "audience: place/7",
            ])
    }

    @Test("§5.3 row 1: a notification without order id carries x-degraded: order_id")
    func degraded() throws {
        var batch = EventBatch()
        batch.add(orderID: "", isDegraded: true)
        #expect(try render([.apns("00")], batch).first?.headers.last == "x-degraded: order_id")
    }

    @Test("every optional header is written")
    func optionalHeaders() throws {
        var batch = EventBatch()
        batch.add(orderID: "742ba33c", eventType: .known(.unpickedOrdersReminder))
        let settings = RenderSettings(optionalHeaders: Set(RenderSettings.OptionalHeader.allCases))
        let headers = try #require(try render([.fcm("t")], batch, settings).first).headers.dropFirst(5)
        #expect(
            headers == ["event-type: event_unpicked_orders_reminder", "app: com.example.app", "order-id: 742ba33c"])
        #expect(headers.count == RenderSettings.OptionalHeader.allCases.count)
    }

    @Test("the header app has each device's own app, and is empty for a device without one")
    func apps() throws {
        var batch = EventBatch()
        batch.add()
        var other = Subscription.fcm("t2")
        other.app = "com.example.other"
        var none = Subscription.fcm("t3")
        none.app = ""
        let subscriptions = [.fcm("t1"), other, none, .apns("aa")]
        let rendered = try render(subscriptions, batch, RenderSettings(optionalHeaders: [.app]))
        #expect(rendered.count == 4)
        for message in rendered {
            let subscription = try #require(subscriptions.first { $0.tokenHash == message.key })
            #expect(message.headers.dropFirst(5) == ["app: \(subscription.app)"])
        }
    }

    @Test("the traceparent that the extraction accepts is passed on, no header as such is")
    func traceparent() throws {
        var batch = EventBatch()
        batch.add()
        let names: [StaticString] = ["ce_id", "traceparent"]
        for name in names {
            batch.headers.append(
                EventHeader(
                    name: UnsafeRawBufferPointer(name), value: UnsafeRawBufferPointer("00-xx-cd-01" as StaticString)))
        }
        batch.records[0].headers = 0..<2
        #expect(try render([.fcm("t")], batch).first?.headers.count == 5)
        batch.records[0].traceparent = UnsafeRawBufferPointer("00-ab-cd-01" as StaticString)
        #expect(try render([.fcm("t")], batch).first?.headers.dropFirst(5) == ["traceparent: 00-ab-cd-01"])
    }

    @Test(
        "§1.2: ttl is whole seconds from 0 to 2,419,200, and the expiry follows it",
        arguments: [
            (.milliseconds(1_999), 1), (.zero, 0), (.seconds(-5), 0), (.seconds(9_999_999), 2_419_200),
        ] as [(Duration, Int64)])
    func timeToLive(setting: Duration, seconds: Int64) throws {
        var batch = EventBatch()
        batch.add(time: noon + 999)
        let rendered = try render([.fcm("t")], batch, RenderSettings(timeToLive: setting, androidPriority: .normal))
        let value = try #require(rendered.first?.value)
        #expect(value.contains(#""android":{"priority":"normal","ttl":"\#(seconds)s"}"#))
        #expect(value.contains(#""apns-expiration":"\#(noon.milliseconds / 1_000 + seconds)""#))
        #expect(rendered.first?.headers[3] == "expires-at: \((noon + 999 + seconds * 1_000).milliseconds)")
    }

    @Test("an expiry too large for its type becomes the largest one")
    func farFuture() throws {
        var batch = EventBatch()
        batch.add(time: .distantFuture - 5)
        #expect(try render([.fcm("t", lastSeen: nil)], batch).first?.headers[3] == "expires-at: \(Int64.max)")
    }

    @Test("a token and an order id with quotes and backslashes stay one JSON string")
    func escapedToken() throws {
        var batch = EventBatch()
        batch.add(payload: "{}", orderID: #"1"2\3"#, orderType: .food)
        let rendered = try render([.fcm(#"to"k\en"#)], batch)
        #expect(rendered.first?.value.hasPrefix(#"{"message":{"token":"to\"k\\en","data""#) == true)
        #expect(rendered.first?.value.contains(#""order_id":"1\"2\\3"}"#) == true)
    }

    @Test("§1.3, §7: data of 4,096 bytes passes, 4,097 is one dead letter with the size")
    func sizeFCM() throws {
        var renderer = MessageRenderer(settings: RenderSettings())
        var batch = EventBatch()
        // The keys and values: default 7, order_type 10, food 4, order_id 8, 12345 5.
        let room = 4_096 - 34
        batch.add(payload: String(repeating: "x", count: room), orderType: .food)
        batch.add(payload: String(repeating: "x", count: room + 1), orderType: .food)
        batch.add(payload: String(repeating: "é", count: 2_045))
        #expect(renderer.begin(batch.notifications[0], in: batch, platforms: PlatformSet(.fcm)) == nil)
        let problem = renderer.begin(batch.notifications[1], in: batch, platforms: PlatformSet(.fcm))
        #expect(problem?.code == .payloadTooLarge)
        #expect(problem?.message == "the data of an FCM message has 4097 bytes, at most 4096 are allowed")
        let larger = renderer.begin(batch.notifications[2], in: batch, platforms: PlatformSet(.fcm))
        #expect(larger?.message.contains("4097") == true)
    }

    @Test("§2.3: an APNs payload counts as its JSON, escapes included, and only where there is an APNs device")
    func sizeAPNs() throws {
        var renderer = MessageRenderer(settings: RenderSettings())
        var batch = EventBatch()
        let frame = #"{"aps":{"content-available":1},"default":""}"#.utf8.count
        batch.add(payload: String(repeating: "\"", count: (4_096 - frame) / 2))
        batch.add(payload: String(repeating: "\"", count: (4_096 - frame) / 2 + 1))
        #expect(renderer.begin(batch.notifications[0], in: batch) == nil)
        let problem = renderer.begin(batch.notifications[1], in: batch)
        #expect(problem?.code == .payloadTooLarge)
        #expect(problem?.message.hasPrefix("the payload of an APNs message has 409") == true)
        #expect(renderer.begin(batch.notifications[1], in: batch, platforms: PlatformSet(.fcm)) == nil)
    }

    @Test("both platforms of one audience, and the next notification, do not mix")
    func severalDevices() throws {
        var batch = EventBatch()
        batch.add(payload: "{1}", messageID: "msg-1-a")
        batch.add(place: "8", payload: "{2}", messageID: "msg-2-b")
        let rendered = try render(
            [.fcm("t1"), .fcm("t2"), .apns("aa"), .apns("bb", of: "place/8")], batch)
        #expect(rendered.count == 4)
        for message in rendered {
            let isSecond = message.value.contains("bb")
            #expect(message.value.contains(isSecond ? "{2}" : "{1}"))
            #expect(message.headers[0] == "message-id: " + (isSecond ? "msg-2-b" : "msg-1-a"))
            #expect(message.headers[1] == (message.value.contains("device_token") ? "platform: apns" : "platform: fcm"))
        }
        #expect(Set(rendered.map(\.key)).count == 4)
    }

    @Test("control characters of a payload are escaped in lower case, everything else stays as it is")
    func controls() throws {
        var batch = EventBatch()
        batch.add(payload: "a\u{1}\u{1F}\n\t/é\u{2028}😀\u{7F}")
        #expect(
            try render([.fcm("t")], batch).first?.value.contains(
                #""default":"a\u0001\u001f\n\t/é"# + "\u{2028}😀\u{7F}\"") == true)
    }
}

@Suite("Parts of a message")
struct MessagePartsTests {
    @Test(
        "an expiry before 1970 is rounded to whole seconds towards zero", arguments: [-1_500, -500, 500, 1_500])
    func earlyExpiry(milliseconds: Int64) throws {
        var batch = EventBatch()
        batch.add(time: WallTime(milliseconds: milliseconds))
        var fanOut = try makeFanOut([.fcm("t", lastSeen: nil)])
        var renderer = MessageRenderer(settings: RenderSettings(timeToLive: .zero))
        _ = try fanOut.resolve(batch, from: 0, limit: 1)
        #expect(renderer.begin(batch.notifications[0], in: batch, platforms: PlatformSet(.fcm)) == nil)
        _ = fanOut.recipients(of: 0, in: batch)
        let message = renderer.render(fanOut.recipient(0), audience: UnsafeRawBufferPointer(start: nil, count: 0))
        let value = String(decoding: message.value, as: UTF8.self)
        #expect(value.contains(#""apns-expiration":"\#(milliseconds / 1_000)""#))
    }

    @Test("a device's own part may be larger than the room before the end, which stays the same for the next one")
    func front() {
        var body = MessageBody()
        body.append("-end")
        for count in [1, 5_000, 3, 20_000, 0] {
            body.removeFront()
            let own = [UInt8](repeating: UInt8(ascii: "x"), count: count)
            own.withUnsafeBytes { body.prepend($0) }
            body.prepend("start-")
            #expect(
                String(decoding: body.bytes, as: UTF8.self) == "start-" + String(repeating: "x", count: count) + "-end")
        }
        body.removeAll()
        body.append("2")
        #expect(String(decoding: body.bytes, as: UTF8.self) == "2")
    }
}
