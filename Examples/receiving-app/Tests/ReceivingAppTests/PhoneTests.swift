import NotificationPayload
import Testing

@testable import receiving_app

@Suite("What the user of a phone sees")
struct PhoneTests {
    /// A line of `carillon render`.
    private func line(_ platform: String, _ message: String) -> String {
        let record: [String: PushValue] = [
            "topic": .string("notifications.dispatch"), "key": .string("5c775c46"), "payload": .string(message),
            "headers": .array([.string("message-id"), .string("m"), .string("platform"), .string(platform)]),
        ]
        return PushValue.object(record).json
    }

    private func shown(_ lines: [String], links: DeepLinks = DeepLinks()) -> [[String]] {
        var phone = Phone(links: links)
        return lines.compactMap { Delivery(line: $0) }.map { phone.receive($0.push) }
    }

    @Test("an order has the app's own text and its deep link, and its repeat is dropped on either provider's way")
    func order() throws {
        let payload = OrderPayload(
            messageID: "msg-1725707721000-abc123def", orderID: "o/1", parentOrderID: "o/1", visibleID: "17",
            eventType: "event_order_status_changed", deliveryDate: "2025-07-07", startTime: "14:00", endTime: "16:00",
            placeID: "p", statusChange: .init(previous: "pending", new: "picking", orderNumber: "17"))
        let members: [String: PushValue] = [
            "default": .string(payload.encoded()), "order_type": .string("d2d"), "order_id": .string("o/1"),
        ]
        let data = PushValue.object(members).json
        let apns = PushValue.object(members.merging(["aps": .object(["content-available": .number("1")])]) { $1 }).json
        #expect(
            shown(
                [
                    line("fcm", #"{"message":{"token":"made-up-token","data":\#(data)}}"#),
                    line("apns", #"{"device_token":"00","payload":\#(apns)}"#),
                ], links: try DeepLinks(templates: ["d2d": "https://shop.example/parcels/{order_id}"])) == [
                    [
                        "Order status updated: Order #17 is now picking",
                        "opens https://shop.example/parcels/o%2F1",
                    ],
                    ["duplicate, dropped: msg-1725707721000-abc123def"],
                ])
    }

    @Test("links are those of the file's templates, other lines of it are skipped, and a bad template is an error")
    func links() throws {
        let file = "# the shop's\nstate.dir=/x\ndeep-link.food=https://shop.example/o/{order_id}?a=b\n"
        #expect(try DeepLinks(properties: file).templates == ["food": "https://shop.example/o/{order_id}?a=b"])
        #expect(throws: DeepLinksError.self) {
            try DeepLinks(properties: "deep-link.food=http://shop.example/{order_id}")
        }
    }

    @Test("an order push with a text of its own shows that")
    func shownOrder() {
        let data = #"{"event_type":"event_order_created","order_id":"7"}"#
        let notice = #"{"title":"Bestellung 7","body":"Neu"}"#
        let shown = shown([line("fcm", #"{"message":{"notification":\#(notice),"data":\#(data)}}"#)])
        #expect(shown.first?.first == "Bestellung 7: Neu")
    }

    @Test("requests show title and body, and the data that the app gets")
    func requests() {
        let notification = #"{"title":"42","body":"The purpose of life"}"#
        let fcm =
            #"{"message":{"token":"made-up-token","notification":\#(notification),"data":{"type":"Generic","message_id":"a"}}}"#
        let apns = #"{"payload":{"aps":{"alert":\#(notification)},"count":3,"message_id":"b"}}"#
        let silent = #"{"payload":{"aps":{"content-available":1},"k":"v","message_id":"c"}}"#
        #expect(
            shown([line("fcm", fcm), line("apns", apns), line("apns", silent), line("apns", silent)]) == [
                ["42: The purpose of life", #"data {"type":"Generic"}"#],
                ["42: The purpose of life", #"data {"count":3}"#],
                ["(silent)", #"data {"k":"v"}"#],
                ["duplicate, dropped: c"],
            ])
    }

    @Test("a broadcast shows the text of the phone's language, or what the system has shown")
    func broadcasts() throws {
        let fields =
            #"[{"language":"en","title":"Hello","msg":"World"},{"language":"de","title":"Hallo","msg":"Welt"}]"#
        let members: [String: PushValue] = [
            "actiontype": .string("display"), "notificationtype": .string("festive"), "notificationid": .string("1"),
            "type": .string("non-cancellable"), "poster": .string("https://a.example/p.png"), "fields": .string(fields),
        ]
        let json = PushValue.object(members).json
        let shown = ["festive: Hallo: Welt", "image https://a.example/p.png", "cannot be dismissed"]
        for message in [
            #"{"message":{"data":\#(json)}}"#,
            #"{"message":{"notification":{"title":"Hallo","body":"Welt"},"data":\#(json)}}"#,
        ] {
            var phone = Phone(locale: "de-AT")
            let push = try #require(Delivery(line: line("fcm", message))?.push)
            #expect(phone.receive(push) == shown)
            #expect(phone.receive(push) == ["duplicate, dropped: 1"])
        }
    }

    @Test("a broadcast that is not to be shown changes a feature, and an unknown one nothing")
    func silentBroadcasts() {
        let data =
            #"{"actiontype":"non-display","notificationtype":"enable-feature","notificationid":"2","data":"dark mode"}"#
        let other = #"{"actiontype":"later","notificationid":"3"}"#
        let lines = [data, other].map { line("fcm", #"{"message":{"data":\#($0)}}"#) }
        #expect(shown(lines) == [["(silent) enable-feature: dark mode"], ["not understood: broadcast 3"]])
    }

    @Test("what cannot be understood says why, and an order says what is wrong with it")
    func problems() {
        #expect(
            shown([
                line("apns", #"{"payload":{"aps":{}}}"#),
                line("fcm", #"{"message":{"data":{"event_type":"event_order_created","order_id":"7"}}}"#),
            ]).map { $0.prefix(2).joined(separator: "; ") } == [
                "not understood: the push has neither data nor anything to show",
                "New order: Order #7 for  –; problem: message_id is missing; it must be a text of one character or more",
            ])
    }

    @Test(
        "a line that is no dispatch record is skipped",
        arguments: [
            "", "{}", #"{"suppressed":"no_subscriber"}"#, #"{"topic":"t","headers":[],"key":"k","payload":"{}"}"#,
            #"{"topic":"t","headers":["platform"],"key":"k","payload":"{}"}"#,
            #"{"topic":"t","headers":["platform","fax"],"key":"k","payload":"{}"}"#,
            #"{"topic":"t","headers":["platform","fcm"],"key":null,"payload":"{}"}"#,
            #"{"topic":"t","headers":["platform","fcm"],"key":"k","payload":"{"}"#,
        ])
    func skipped(_ line: String) {
        #expect(Delivery(line: line)?.device == nil)
    }
}
