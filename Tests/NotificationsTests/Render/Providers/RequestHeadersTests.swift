import StageSupport
import Testing

@testable import Notifications

@Suite("The headers, priority and expiry of requests")
struct RequestHeadersTests {
    private static let everyHeader = RenderSettings(
        optionalHeaders: Set(RenderSettings.OptionalHeader.allCases))

    @Test("the headers of every record, with the request's own expiry")
    func headers() throws {
        var sample = SampleRequest(expiresAt: requested + 1_234)
        sample.fcmExpiresAt = requested + 99_000
        for platform in ["fcm", "apns"] {
            let headers = try RenderedRequest(sample).headers
            #expect(
                headers[platform == "fcm" ? .fcm : .apns] == [
                    "message-id: msg-1751875337000-sgei4bhk4", "platform: \(platform)",
                    "source: notifications.requests/3/4711", "expires-at: \(requested.milliseconds + 1_234)",
                    "audience: place/7",
                ])
        }
    }

    @Test("§10.1: with every optional header, event-type is app or message, and there is no order-id")
    func optionalHeaders() throws {
        for content in RequestNotification.Content.allCases {
            let headers = try RenderedRequest(SampleRequest(content: content), Self.everyHeader).headers
            for list in headers.values {
                #expect(
                    list.dropFirst(4) == [
                        "audience: place/7", "event-type: \(content.rawValue)", "app: com.example.shop",
                    ])
            }
        }
    }

    @Test("§8.1: request-id is the id of the request; without one there is no such header")
    func requestID() throws {
        for settings in [RenderSettings(), Self.everyHeader] {
            let headers = try RenderedRequest(SampleRequest(id: "bills-2025-17"), settings).headers
            for list in headers.values { #expect(list.last == "request-id: bills-2025-17") }
            let none = try RenderedRequest(SampleRequest(), settings).headers
            for list in none.values { #expect(!list.contains { $0.hasPrefix("request-id") }) }
        }
    }

    @Test("an id and a traceparent are passed on, and a renderer that has done so writes an order's id again")
    func mixed() throws {
        var requests = EventBatch(.requests, topic: "notifications.requests")
        requests.add(SampleRequest(id: "r1"))
        requests.records[0].traceparent = UnsafeRawBufferPointer("00-ab-cd-01" as StaticString)
        var orders = EventBatch()
        orders.add(orderID: "742ba33c", isDegraded: true)
        var renderer = MessageRenderer(settings: Self.everyHeader)
        for _ in 0..<2 {
            let request = try RenderedRequest.all(of: requests, by: &renderer)
            #expect(
                request.first?.headers[.fcm]?.dropFirst(4) == [
                    "audience: place/7", "event-type: message", "app: com.example.shop", "request-id: r1",
                    "traceparent: 00-ab-cd-01",
                ])
            let order = try RenderedRequest.all(of: orders, by: &renderer)
            #expect(
                order.first?.headers[.fcm]?.dropFirst(4) == [
                    "audience: place/7", "event-type: event_order_created", "app: com.example.shop",
                    "order-id: 742ba33c", "x-degraded: order_id",
                ])
        }
    }

    @Test("§8.4: the priorities of both providers, visible and silent; orders' settings do not matter")
    func priorities() throws {
        let cases: [(isSilent: Bool, RequestNotification.Priority?, android: String, apns: String)] = [
            (false, .high, "high", "10"), (false, nil, "high", "10"), (false, .normal, "normal", "5"),
            (true, .high, "high", "5"), (true, .normal, "normal", "5"), (true, nil, "normal", "5"),
        ]
        let settings = RenderSettings(timeToLive: .seconds(1), androidPriority: .normal)
        for (isSilent, priority, android, apns) in cases {
            let rendered = try RenderedRequest(SampleRequest(isSilent: isSilent, priority: priority), settings)
            let (fcm, direct) = (try values(of: rendered.fcm), try values(of: rendered.apns))
            #expect(fcm["message.android.priority"] == "\"\(android)\"")
            #expect(fcm["message.android.ttl"] == "\"86400s\"")
            for (found, path) in [(fcm, "message.apns.headers."), (direct, "headers.")] {
                #expect(found[path + "apns-priority"] == "\"\(apns)\"")
                #expect(found[path + "apns-push-type"] == (isSilent ? "\"background\"" : "\"alert\""))
            }
        }
    }

    @Test(
        "§8.3: FCM's ttl is whole seconds, rounded down, from 0 to 2,419,200",
        arguments: [
            (1_999, 1), (999, 0), (0, 0), (-1, 0), (-5_000, 0), (2_419_200_999, 2_419_200), (2_419_201_000, 2_419_200),
        ] as [(Int64, Int64)])
    func timeToLive(milliseconds: Int64, seconds: Int64) throws {
        let rendered = try RenderedRequest(SampleRequest(expiresAt: requested + milliseconds))
        #expect(try values(of: rendered.fcm)["message.android.ttl"] == "\"\(seconds)s\"")
    }

    @Test("§8.3: an event time far from the expiry does not overflow")
    func farTimes() throws {
        for (time, ttl) in [(WallTime.distantPast, "2419200s"), (.distantFuture, "0s")] {
            #expect(
                FCMMessage.timeToLive(from: time, until: requested) == Int64(ttl.dropLast()))
            #expect(FCMMessage.timeToLive(from: time, until: -5) == Int64(ttl.dropLast()))
        }
        for (time, seconds) in [(-1, -1), (-1_000, -1), (-1_001, -2), (999, 0)] as [(WallTime, Int64)] {
            #expect(MessageBody.seconds(of: time) == seconds)
        }
    }

    @Test("§8.9: FCM's own expiry is in all of its message; the header and APNs have the request's")
    func ownExpiry() throws {
        var sample = SampleRequest(expiresAt: requested + 60_999)
        sample.fcmExpiresAt = requested + 86_400_000
        let rendered = try RenderedRequest(sample)
        let (fcm, direct) = (try values(of: rendered.fcm), try values(of: rendered.apns))
        #expect(fcm["message.android.ttl"] == "\"86400s\"")
        #expect(fcm["message.apns.headers.apns-expiration"] == "\"1751961737\"")
        #expect(direct["headers.apns-expiration"] == "\"1751875397\"")
        #expect(rendered.headers[.fcm]?[3] == "expires-at: \(requested.milliseconds + 60_999)")
    }

    @Test("a token and an app with quotes are escaped")
    func escapedToken() throws {
        var batch = EventBatch(.requests, topic: "notifications.requests")
        batch.add(SampleRequest(isSilent: true))
        var fanOut = try makeFanOut([.fcm(#"to"k\en"#)])
        _ = try fanOut.resolve(batch, from: 0, limit: 1)
        var renderer = MessageRenderer(settings: RenderSettings())
        #expect(renderer.begin(batch.notifications[0], in: batch) == nil)
        let found = fanOut.recipients(of: 0, in: batch)
        #expect(found.devices.count == 1)
        let record = renderer.render(fanOut.recipient(0), audience: fanOut.audience(of: fanOut.recipient(0)))
        let value = String(decoding: record.value, as: UTF8.self)
        #expect(value.hasPrefix(#"{"message":{"token":"to\"k\\en","data":{"message_id""#))
    }
}
