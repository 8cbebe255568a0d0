import NotificationPayload
import Testing

@Suite("What a push means to the app")
struct ReceivedNotificationTests {
    private let order = OrderPayload(
        messageID: "msg-1725707721000-abc123def", orderID: "o-1", parentOrderID: "o-1", visibleID: "ORDER-1",
        eventType: "event_order_created", deliveryDate: "2025-07-07", startTime: "14:00", endTime: "16:00",
        placeID: "p-1")

    private let links: DeepLinks

    init() throws {
        links = try DeepLinks(templates: [
            "food": "https://shop.example/food/{order_id}", "d2d": "https://shop.example/d2d/{order_id}",
        ])
    }

    private func kind(_ notification: ReceivedNotification) -> String {
        switch notification {
        case .order: "order"
        case .other(let other): "other: \(other.name)"
        case .app: "app"
        case .message: "message"
        case .broadcast: "broadcast"
        case .unknown(let unknown): "unknown: \(unknown.reason)"
        }
    }

    @Test("an order of a type that document 1 does not have is of another type, with the fields that it adds")
    func otherType() throws {
        var payload = order
        payload.eventType = "event_order_delayed"
        let plain = payload.encoded()
        let added = plain.replacing("}}", with: #","delay_minutes":"20","reason":"Snow"}}"#)
        for (encoded, fields) in [(plain, [:]), (added, ["delay_minutes": "20", "reason": "Snow"])] {
            let push = ReceivedNotification(
                data: ["default": encoded, "order_type": "food", "order_id": "o-1"], alert: PushAlert(title: "t"))
            guard case .other(let other) = push else {
                Issue.record("\(push)")
                continue
            }
            #expect(other.name == "order_delayed" && other.fields == fields)
            #expect(other.order.payload == payload && other.order.title == "t")
            #expect(push.messageID == payload.messageID && push.deepLinkKeys?.orderType == "food")
        }
        let flat = ReceivedNotification(data: ["event_type": "event_late", "order_id": "1", "reason": "Snow"])
        guard case .other(let other) = flat else {
            Issue.record("\(flat)")
            return
        }
        #expect(other.name == "late" && other.fields == ["reason": "Snow"] && other.order.payload.orderID == "1")
        for type in ["event_order_created", "", "event_", "order_delayed"] {
            payload.eventType = type
            #expect(kind(ReceivedNotification(data: ["default": payload.encoded()])) == "order", "\(type)")
        }
    }

    @Test(
        "the kinds are told apart in the order default, event_type, actiontype with notificationid, type, anything",
        arguments: [
            (["default", "event_type", "actiontype", "notificationid", "type", "x"], "order"),
            (["event_type", "actiontype", "notificationid", "type", "x"], "order"),
            (["actiontype", "notificationid", "type", "x"], "broadcast"),
            (["actiontype", "type", "x"], "app"), (["notificationid", "type", "x"], "app"), (["type", "x"], "app"),
            (["actiontype", "x"], "message"), (["notificationid", "x"], "message"), (["x"], "message"),
        ])
    func precedence(names: [String], expected: String) {
        let values = ["default": order.encoded()]
        let data = Dictionary(uniqueKeysWithValues: names.map { ($0, values[$0] ?? "v") })
        #expect(kind(ReceivedNotification(data: data)) == expected)
        #expect(kind(ReceivedNotification(userInfo: data)) == expected)
        let json = PushValue.object(data.mapValues(PushValue.string)).json
        #expect(kind(ReceivedNotification(json: json)) == expected)
        #expect(kind(ReceivedNotification(json: #"{"data":\#(json)}"#)) == expected)
    }

    @Test("an empty string counts as absent, as in document 1's own handler")
    func emptyStrings() {
        let names = ["default", "event_type", "actiontype", "notificationid", "type"]
        let data = Dictionary(uniqueKeysWithValues: names.map { ($0, "") })
        #expect(kind(ReceivedNotification(data: data)) == "message")
        #expect(kind(ReceivedNotification(json: #"{"default":null,"type":"Generic"}"#)) == "app")
    }

    @Test(
        "a push with nothing in it is unknown, and so is what is no JSON object",
        arguments: ["{}", #"{"aps":{}}"#, #"{"aps":{"content-available":1},"gcm.message_id":"1"}"#, #"{"data":{}}"#])
    func nothing(_ json: String) {
        let empty = UnknownNotification(push: ReceivedPush(data: [:]), reason: .empty)
        #expect(ReceivedNotification(json: json) == .unknown(empty))
        for json in ["", "{", "[]", "1", "\"{}\"", "null"] {
            #expect(
                ReceivedNotification(json: json)
                    == .unknown(UnknownNotification(push: ReceivedPush(data: [:]), reason: .notAnObject)))
        }
    }

    @Test("an order whose default cannot be read is unknown, with all that came")
    func unreadableOrder() {
        for value in [#""{""#, #""[]""#, "[]", "{}", "1", "true", #"{"data":1}"#] {
            guard case .unknown(let unknown) = ReceivedNotification(json: #"{"default":\#(value),"event_type":"e"}"#)
            else {
                Issue.record("\(value) was read")
                continue
            }
            #expect(unknown.reason == .unreadableOrder)
            #expect(unknown.push.data["event_type"] == .string("e"))
        }
    }

    @Test("§5.3 row 13: the payload is a string; the object that document 1 shows as parsed is read as well")
    func parsedDefault() {
        let expected = ReceivedNotification.order(OrderNotification(payload: order))
        #expect(ReceivedNotification(json: #"{"default":\#(order.encoded())}"#) == expected)
        #expect(ReceivedNotification(data: ["default": order.encoded()]) == expected)
    }

    @Test("§7.1: an order push that is shown is an order still, with what it shows")
    func shownOrder() {
        let data = PushValue.object(
            ["default": .string(order.encoded()), "order_type": .string("food"), "order_id": .string("o-1")])
        let notice = #"{"title":"Order A-17","body":"Picked."}"#
        let expected = ReceivedNotification.order(
            OrderNotification(
                payload: order, deepLinkKeys: DeepLinkKeys(orderType: "food", orderID: "o-1"), title: "Order A-17",
                body: "Picked."))
        #expect(ReceivedNotification(json: #"{"notification":\#(notice),"data":\#(data.json)}"#) == expected)
        let aps = #"{"aps":{"alert":\#(notice),"content-available":1},"#
        #expect(ReceivedNotification(json: aps + data.json.dropFirst()) == expected)
        #expect(ReceivedNotification(json: #"{"aps":{"content-available":1},"# + data.json.dropFirst()) != expected)
    }

    @Test("§5.3 row 13: document 1's legacy flat form is an order")
    func legacy() {
        let data = ["event_type": "event_order_created", "order_id": "o-1", "order_type": "Food", "message_id": "m"]
        let notification = ReceivedNotification(data: data)
        guard case .order(let order) = notification else {
            Issue.record("\(notification)")
            return
        }
        #expect(order.payload.orderID == "o-1")
        #expect(notification.messageID == "m")
        #expect(notification.deepLink(links) == "https://shop.example/food/o-1")
        #expect(order.payload.problems.count == 5)
    }

    @Test("§5.5: an order's deep link is that of the flat keys, not of the id inside default")
    func orderLink() {
        let data = ["default": order.encoded(), "order_type": "d2d", "order_id": "a+b"]
        let url = "https://shop.example/d2d/a%2Bb"
        #expect(ReceivedNotification(data: data).deepLink(links) == url)
        #expect(ReceivedNotification(userInfo: data).deepLink(links) == url)
        #expect(ReceivedNotification(data: ["default": order.encoded(), "order_type": "d2d"]).deepLink(links) == nil)
        #expect(ReceivedNotification(data: ["default": order.encoded()]).deepLinkKeys == nil)
    }

    @Test("§5.5: any other push with the two flat keys has a deep link too")
    func otherLinks() {
        let keys = ["order_type": "food", "order_id": "7"]
        for kind in [["type": "Generic"], ["x": "y"], ["actiontype": "display", "notificationid": "1"]] {
            let notification = ReceivedNotification(data: keys.merging(kind) { $1 })
            #expect(notification.deepLink(links) == "https://shop.example/food/7", "\(kind)")
        }
    }

    @Test("document 4: a broadcast has its data as strings, and is a repeat by its notificationid")
    func broadcast() {
        let json =
            #"{"actiontype":"display","notificationid":1235,"expiry":"34646millis","type":"cancellable","fields":[{"language":"en"}]}"#
        let notification = ReceivedNotification(json: json)
        #expect(
            notification
                == .broadcast(
                    Broadcast(
                        actionType: "display", notificationID: "1235",
                        data: [
                            "actiontype": "display", "notificationid": "1235", "expiry": "34646millis",
                            "type": "cancellable", "fields": #"[{"language":"en"}]"#,
                        ])))
        #expect(notification.messageID == "1235")
        let nonDisplay = ReceivedNotification(data: [
            "actiontype": "non-display", "notificationid": "1235", "data": "free form", "message_id": "m",
        ])
        #expect(nonDisplay.messageID == "m")
        #expect(kind(nonDisplay) == "broadcast")
    }

    @Test("document 4: its own payloads are typed values, whichever form the push has")
    func broadcastContent() {
        let fields =
            #"[{"language":"en","title":"Welcome","msg":"Hello"},{"language":"hi","title":"T","msg":"M"},{"title":"x"},7]"#
        let data = [
            "actiontype": "display", "notificationtype": "downtime", "notificationid": "1235",
            "expiry": "34646millis", "type": "non-cancellable", "channel": "c", "poster": "https://a", "fields": fields,
            "published_at": "1751875337000",
        ]
        let texts = [
            Broadcast.Text(language: "en", title: "Welcome", message: "Hello"),
            Broadcast.Text(language: "hi", title: "T", message: "M"),
        ]
        let display = Broadcast.Display(kind: .downtime, isCancellable: false, poster: "https://a", texts: texts)
        for alert in [PushAlert(), PushAlert(title: "T", body: "M")] {
            guard case .broadcast(let broadcast) = ReceivedNotification(data: data, alert: alert) else {
                Issue.record("no broadcast")
                return
            }
            #expect(broadcast.content == .display(display))
            #expect(broadcast.title == alert.title && broadcast.body == alert.body)
            #expect(broadcast.channel == "c" && broadcast.expiresAt == 1_751_875_371_646)
        }
    }

    @Test("document 4: what is missing or unknown in a broadcast")
    func oddBroadcasts() {
        func broadcast(_ data: [String: String]) -> Broadcast {
            Broadcast(actionType: data["actiontype"] ?? "display", notificationID: "1", data: data)
        }
        let none = Broadcast.Display(kind: .others, isCancellable: true, texts: [])
        for fields in [nil, "", "{}", "[", "[1]", #"[{"language":"","title":"t","msg":"m"}]"#] {
            var data = ["notificationtype": "news"]
            data["fields"] = fields
            #expect(broadcast(data).content == .display(none))
        }
        #expect(broadcast(["actiontype": "show"]).content == nil)
        #expect(broadcast(["actiontype": "non-display", "notificationtype": "reboot"]).content == nil)
        #expect(
            broadcast(["actiontype": "non-display", "notificationtype": "disable-feature", "data": "d"]).content
                == .nonDisplay(Broadcast.NonDisplay(kind: .disableFeature, data: "d")))
        #expect(broadcast([:]).expiry == nil && broadcast([:]).expiresAt == nil)
        #expect(broadcast(["expiry": "34646millis"]).expiresAt == nil)
        #expect(broadcast(["expiry": "1751875337000"]).expiresAt == 1_751_875_337_000)
        for expiry in ["34646", "tomorrow", "millis", "+1millis", "1000000000000000000millis"] {
            #expect(broadcast(["expiry": expiry, "published_at": "0"]).expiresAt == nil, "\(expiry)")
        }
        #expect(broadcast(["expiry": "1millis", "published_at": "x"]).expiresAt == nil)
    }

    @Test("an order without a message id has none, so that it is no repeat")
    func missingID() {
        #expect(ReceivedNotification(data: ["event_type": "e"]).messageID == nil)
        #expect(ReceivedNotification(json: "").messageID == nil)
    }
}
