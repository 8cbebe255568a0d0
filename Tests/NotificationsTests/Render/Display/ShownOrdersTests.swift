import NotificationPayload
import StageSupport
import Testing

@testable import Notifications

@Suite("§7.1: order pushes that are shown")
struct ShownOrdersTests {
    /// The page's own example.
    private static let example = """
        {"default":"en","languages":{"en":{"order_created":{"title":"Order {visible_id}",\
        "body":"To be picked from {start_time} to {end_time}."},\
        "order_status_changed/picked":{"title":"Order {visible_id}","body":"Picked."}},\
        "de":{"order_created":{"title":"Bestellung {visible_id}","body":"Ab {start_time} zu packen."}}}}
        """

    private func settings(_ json: String = Self.example) throws -> RenderSettings {
        RenderSettings(display: try DisplayTemplates(json: Array(json.utf8)))
    }

    private func payload(
        _ type: EventType = .orderCreated, visibleID: String = "A-17", status: String? = nil
    ) -> String {
        OrderPayload(
            messageID: "msg-1", orderID: "12345", parentOrderID: "12345", visibleID: visibleID,
            eventType: type.rawValue, deliveryDate: "2025-07-07", startTime: "14:00", endTime: "16:00", placeID: "7",
            statusChange: status.map { .init(previous: "pending", new: $0, orderNumber: visibleID) }
        ).encoded()
    }

    private func device(_ token: String, _ platform: Platform = .fcm, locale: String?) -> Subscription {
        var device: Subscription =
            switch platform {
            case .fcm: .fcm(token)
            case .apns: .apns(token)
            }
        device.locale = locale
        return device
    }

    /// The values of the dispatch records by token, of one notification.
    private func render(
        _ devices: [Subscription], _ batch: borrowing EventBatch, _ settings: RenderSettings, _ index: Int = 0
    ) throws -> [String: String] {
        var fanOut = try makeFanOut(devices)
        var renderer = MessageRenderer(settings: settings)
        _ = try fanOut.resolve(batch, from: 0, limit: 1_000)
        var values: [String: String] = [:]
        for index in 0...index {
            values = [:]
            let recipients = fanOut.recipients(of: index, in: batch)
            #expect(renderer.begin(batch.notifications[index], in: batch, platforms: recipients.platforms) == nil)
            for position in recipients.devices {
                let device = fanOut.recipient(position)
                #expect(renderer.prepare(device, audience: fanOut.audience(of: device)) == nil)
            }
            for position in recipients.devices {
                let device = fanOut.recipient(position)
                let record = renderer.render(device, audience: fanOut.audience(of: device))
                values[String(decoding: device.token, as: UTF8.self)] = String(decoding: record.value, as: UTF8.self)
            }
        }
        return values
    }

    /// Title and body of the messages by token; nil where a message shows nothing.
    private func shown(
        _ devices: [Subscription], _ batch: borrowing EventBatch, _ settings: RenderSettings, _ index: Int = 0
    ) throws -> [String: [String]?] {
        try render(devices, batch, settings, index).mapValues { value in
            let message = PushValue(json: value)
            let notice = message?["message"]?["notification"] ?? message?["payload"]?["aps"]?["alert"]
            return notice.map { [$0["title"]?.string ?? "?", $0["body"]?.string ?? "?"] }
        }
    }

    @Test("FCM: title and body, the tag, push type alert and priority 10; the data stays byte for byte")
    func fcm() throws {
        var batch = EventBatch()
        batch.add(payload: payload(), orderType: .food)
        let devices = [device("t", locale: "en-GB")]
        let data =
            #""data":{"default":"# + PushValue.string(payload()).json + #","order_type":"food","order_id":"12345"}"#
        #expect(
            try render(devices, batch, settings())["t"]
                == [
                    #"{"message":{"token":"t","#,
                    #""notification":{"title":"Order A-17","body":"To be picked from 14:00 to 16:00."},"#, data,
                    #","android":{"priority":"high","ttl":"3600s","notification":{"tag":"msg-1751896800000-vsgxl8m52"}},"#,
                    #""apns":{"headers":{"apns-push-type":"alert","apns-priority":"10","apns-expiration":"1751900400","#,
                    #""apns-collapse-id":"msg-1751896800000-vsgxl8m52"},"payload":{"aps":{"content-available":1}}}}}"#,
                ].joined())
        #expect(
            try render(devices, batch, RenderSettings())["t"]?.contains(
                data + #","android":{"priority":"high","ttl":"3600s"},"#) == true)
    }

    @Test("APNs: the alert before content-available, push type alert and priority 10; the rest stays byte for byte")
    func apns() throws {
        var batch = EventBatch()
        batch.add(payload: payload(), orderType: .d2d)
        #expect(
            try render([device("0a", .apns, locale: "de")], batch, settings())["0a"]
                == [
                    #"{"device_token":"0a","environment":"production","headers":{"apns-topic":"com.example.App","#,
                    #""apns-push-type":"alert","apns-priority":"10","apns-expiration":"1751900400","#,
                    #""apns-collapse-id":"msg-1751896800000-vsgxl8m52"},"payload":{"aps":{"alert":"#,
                    #"{"title":"Bestellung A-17","body":"Ab 14:00 zu packen."},"content-available":1},"default":"#,
                    PushValue.string(payload()).json, #","order_type":"d2d","order_id":"12345"}}"#,
                ].joined())
    }

    @Test(
        "the language is the locale, otherwise its primary subtag, otherwise the default, in any case and with - or _")
    func languages() throws {
        let json = """
            {"default":"En","languages":{"en":{"order_created":{"title":"en","body":""}},\
            "de":{"order_created":{"title":"de","body":""}},"DE_at":{"order_created":{"title":"at","body":""}},\
            "zh-Hant-TW":{"order_created":{"title":"tw","body":""}}}}
            """
        let expected = [
            "de": "de", "DE": "de", "de-DE": "de", "de_CH": "de", "de-AT": "at", "dE_aT": "at", "de-Latn-AT": "de",
            "zh-hant-tw": "tw", "zh": "en", "zh-Hant": "en", "d": "en", "deu": "en", "fr-FR": "en", "-de": "en",
            "": "en",
            "ÄÖ-AT": "en",
        ]
        var batch = EventBatch()
        batch.add(payload: payload())
        var devices = expected.keys.map { device("t\($0)", locale: $0) }
        devices.append(device("none", locale: nil))
        let found = try shown(devices, batch, settings(json))
        for (locale, title) in expected { #expect(found["t\(locale)"] == [title, ""], "\(locale)") }
        #expect(found["none"] == ["en", ""])
    }

    @Test(
        "in each language the text with the status comes first, then that of the type; without a text it is data only")
    func statuses() throws {
        let json = """
            {"default":"en","languages":{"en":{"order_status_changed":{"title":"en","body":"{new_status}"},\
            "order_status_changed/picked":{"title":"en picked","body":""}},\
            "de":{"order_status_changed/on \\"hold\\"":{"title":"de hold","body":""}},\
            "fr":{"order_status_changed":{"title":"fr","body":"{previous_status}"}}}}
            """
        let devices = ["de", "en", "fr", "fr-CA"].map { device($0, locale: $0) }
        func titles(_ status: String) throws -> [String?] {
            var batch = EventBatch()
            batch.add(payload: payload(.orderStatusChanged, status: status), eventType: .known(.orderStatusChanged))
            let found = try shown(devices, batch, settings(json))
            return ["de", "en", "fr", "fr-CA"].map { found[$0]??.first }
        }
        #expect(try titles("picked") == ["en picked", "en picked", "fr", "fr"])
        #expect(try titles("shipped") == ["en", "en", "fr", "fr"])
        #expect(try titles(#"on "hold""#) == ["de hold", "en", "fr", "fr"])

        var batch = EventBatch()
        batch.add(payload: payload(.timeslotStarted), eventType: .known(.timeslotStarted))
        #expect(try shown(devices, batch, settings(json)).values.allSatisfy { $0 == nil })
        #expect(try render(devices, batch, settings(json)) == render(devices, batch, RenderSettings()))
    }

    @Test("devices with a text and devices without one get their own message of the same notification")
    func some() throws {
        let json = #"{"default":"en","languages":{"en":{},"de":{"order_created":{"title":"Neu","body":"{order_id}"}}}}"#
        var batch = EventBatch()
        batch.add(payload: payload(), orderType: .food)
        let german = [device("d", locale: "de"), device("0d", .apns, locale: "de-DE")]
        let others = [device("e", locale: "en"), device("0e", .apns, locale: nil)]
        let found = try render(german + others, batch, settings(json))
        #expect(found.filter { $0.value.contains(#"{"title":"Neu","body":"12345"}"#) }.keys.sorted() == ["0d", "d"])
        let plain = try render(others, batch, RenderSettings())
        #expect(found.filter { plain.keys.contains($0.key) } == plain)
    }

    @Test("values are no templates, absent members are nothing, and every text is one JSON string")
    func values() throws {
        let json =
            #"{"default":"en","languages":{"en":{"order_created":{"title":"\"{visible_id}\"\n","body":"<{new_status}>\\"}}}}"#
        let odd = "{place_id} \"\\/\u{1}é😀\u{2028}"
        var batch = EventBatch()
        batch.add(payload: payload(visibleID: odd))
        let found = try shown([device("f", locale: nil), device("0a", .apns, locale: nil)], batch, settings(json))
        #expect(found == ["f": ["\"\(odd)\"\n", "<>\\"], "0a": ["\"\(odd)\"\n", "<>\\"]])
    }

    @Test("the texts of one notification are not those of the next one")
    func severalNotifications() throws {
        var batch = EventBatch()
        batch.add(payload: payload(visibleID: "long long long"))
        batch.add(payload: payload(visibleID: "B"))
        batch.add(payload: payload(.timeslotStarted, visibleID: "C"), eventType: .known(.timeslotStarted))
        let devices = [device("d", locale: "de"), device("e", locale: "en")]
        #expect(
            try shown(devices, batch, settings(), 1).mapValues { $0?.first } == ["d": "Bestellung B", "e": "Order B"])
        #expect(try shown(devices, batch, settings(), 2).values.allSatisfy { $0 == nil })
    }

    @Test("§1.3: FCM counts title and body with their names, of the device's own language and before they are escaped")
    func sizeFCM() throws {
        let json = """
            {"default":"en","languages":{"en":{"order_created":{"title":"\\"\\"é{start_time}","body":"{visible_id}"}},\
            "de":{"order_created":{"title":"","body":""}}}}
            """
        func problem(_ count: Int, _ locale: String) throws -> String? {
            var batch = EventBatch()
            batch.add(payload: payload(visibleID: String(repeating: "v", count: count)))
            return try self.problem(batch, device("t", locale: locale), json)
        }
        let rest = payload(visibleID: "").utf8.count + "default".utf8.count + "title".utf8.count + "body".utf8.count
        // `""é14:00`, and what is in the payload and in the body.
        let room = 4_096 - rest - 9
        #expect(try problem(room / 2, "en") == nil)
        #expect(
            try problem(room / 2 + 1, "en")
                == "the data and notification of an FCM message have \(rest + 9 + room / 2 * 2 + 2) bytes, at most 4096 are allowed"
        )
        #expect(try problem(room / 2 + 1, "de") == nil)
    }

    @Test("§2.3: APNs counts the payload with the alert as its JSON")
    func sizeAPNs() throws {
        let json = #"{"default":"en","languages":{"en":{"order_created":{"title":"{visible_id}","body":"\""}}}}"#
        func batch(_ count: Int) -> EventBatch {
            var batch = EventBatch()
            batch.add(payload: payload(visibleID: String(repeating: "v", count: count)), orderType: .food)
            return batch
        }
        let small = batch(0)
        let value = try #require(try render([device("0a", .apns, locale: nil)], small, settings(json))["0a"])
        let start = try #require(value.firstRange(of: #""payload":"#)).upperBound
        let room = 4_096 - (value[start...].utf8.count - 1)
        let fits = batch(room / 2)
        let exceeds = batch(room / 2 + 1)
        #expect(try problem(fits, device("0a", .apns, locale: nil), json) == nil)
        #expect(
            try problem(exceeds, device("0a", .apns, locale: nil), json)
                == "the payload of an APNs message has \(4_096 + 2 - room % 2) bytes, at most 4096 are allowed")
    }

    private func problem(
        _ batch: borrowing EventBatch, _ device: Subscription, _ json: String
    ) throws -> String? {
        var fanOut = try makeFanOut([device])
        var renderer = MessageRenderer(settings: try settings(json))
        _ = try fanOut.resolve(batch, from: 0, limit: 1)
        let recipients = fanOut.recipients(of: 0, in: batch)
        #expect(renderer.begin(batch.notifications[0], in: batch, platforms: recipients.platforms) == nil)
        let problem = renderer.prepare(fanOut.recipient(0), audience: fanOut.audience(of: fanOut.recipient(0)))
        #expect(problem == nil || problem?.code == .payloadTooLarge)
        return problem?.message
    }
}
