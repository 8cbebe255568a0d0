import NotificationPayload
import Testing

/// What is written for each provider, as it arrives on the phone.
@Suite("Requests, from the provider's message back to their content")
struct RequestRoundTripTests {
    private let datev = AppNotification(
        type: "DatevError",
        data: [
            "type": "DatevError", "click_action": "FLUTTER_NOTIFICATION_CLICK", "view": "datev_failed",
            "error": "Quota \"exceeded\"", "errorUri": "this/is/the/error/uri", "message": "é😀", "requestId": "12345",
        ],
        title: "42", body: "The purpose of life", messageID: "msg-0-y11n5dk7h")

    private let message = PushMessage(
        title: "Title", body: "Body", badge: 3, sound: "default", category: "C", collapseKey: "K",
        extras: [
            "text": .string("t"), "count": .number("9007199254740993"), "half": .number("0.5"), "yes": .bool(true),
            "list": .array([.number("1"), .string("x")]), "tree": .object(["a": .null]),
        ], messageID: "msg-0-y11n5dk7h")

    private func json(_ data: [String: String]) -> String { PushValue.object(data.mapValues(PushValue.string)).json }

    @Test("document 2 by FCM: title, body and image are the notification's, everything else is data")
    func appByFCM() {
        var expected = datev
        expected.imageURL = "https://a.example/i.png"
        let data = datev.data.merging(["message_id": "msg-0-y11n5dk7h"]) { $1 }
        let alert = PushAlert(title: "42", body: "The purpose of life", imageURL: "https://a.example/i.png")
        #expect(ReceivedNotification(data: data, alert: alert) == .app(expected))
        let shown = #"{"title":"42","body":"The purpose of life","image":"https://a.example/i.png"}"#
        #expect(ReceivedNotification(json: #"{"notification":\#(shown),"data":\#(json(data))}"#) == .app(expected))
    }

    @Test("document 2 by FCM through APNs: what FCM adds is no data, and the image is found")
    func appByFCMOnIOS() {
        var expected = datev
        expected.imageURL = "https://a.example/i.png"
        var userInfo: [AnyHashable: Any] = datev.data
        userInfo["message_id"] = "msg-0-y11n5dk7h"
        userInfo["aps"] = ["alert": ["title": "42", "body": "The purpose of life"], "mutable-content": 1]
        userInfo["fcm_options"] = ["image": "https://a.example/i.png"]
        userInfo["gcm.message_id"] = "1"
        userInfo["google.c.sender.id"] = "2"
        #expect(ReceivedNotification(userInfo: userInfo) == .app(expected))
    }

    @Test("document 2 by APNs: the data is beside aps")
    func appByAPNs() {
        let members = json(datev.data.merging(["message_id": "msg-0-y11n5dk7h"]) { $1 }).dropLast()
        let alert = #"{"alert":{"title":"42","body":"The purpose of life"}}"#
        #expect(ReceivedNotification(json: #"\#(members),"aps":\#(alert)}"#) == .app(datev))
    }

    @Test("§9: by APNs the image is beside aps, and no data; an image that the provider has shown comes first")
    func appImageByAPNs() {
        var expected = datev
        expected.imageURL = "https://a.example/i.png"
        var data = datev.data.merging(["message_id": "msg-0-y11n5dk7h", "imageUrl": "https://a.example/i.png"]) { $1 }
        let alert = #"{"alert":{"title":"42","body":"The purpose of life"},"mutable-content":1}"#
        #expect(ReceivedNotification(json: #"\#(json(data).dropLast()),"aps":\#(alert)}"#) == .app(expected))
        data["imageUrl"] = "https://a.example/other.png"
        expected.data["imageUrl"] = "https://a.example/other.png"
        let shown = PushAlert(title: "42", body: "The purpose of life", imageURL: "https://a.example/i.png")
        #expect(ReceivedNotification(data: data, alert: shown) == .app(expected))
        guard case .app(let app) = ReceivedNotification(json: #"{"aps":{},"type":"Generic","imageUrl":7}"#) else {
            Issue.record("no app notification")
            return
        }
        #expect(app.imageURL == nil && app.data["imageUrl"] == "7")
    }

    @Test("document 2's own envelope is read, and each of its types is known")
    func documentEnvelope() {
        for type in AppNotificationType.allCases {
            let text =
                #"{"title":"42","body":"B","imageUrl":"https://a.example/i","data":{"type":"\#(type.rawValue)"}}"#
            #expect(
                ReceivedNotification(json: text)
                    == .app(
                        AppNotification(
                            type: type.rawValue, data: ["type": type.rawValue], title: "42", body: "B",
                            imageURL: "https://a.example/i")))
        }
        #expect(AppNotificationType.allCases.count == 11)
    }

    @Test("document 2: True and False are read ignoring case, and a boolean is spelled as the document does")
    func flags() {
        guard
            case .app(let app) = ReceivedNotification(
                json: #"{"type":"NewBill","a":true,"b":"FALSE","c":"yes","d":null,"e":[1]}"#)
        else {
            Issue.record("no app notification")
            return
        }
        #expect(app.data == ["type": "NewBill", "a": "True", "b": "FALSE", "c": "yes", "e": "[1]"])
        #expect(["a", "b", "c", "d"].map { app.flag($0) } == [true, false, nil, nil])
    }

    @Test("document 5 by APNs: extras keep their types beside aps")
    func messageByAPNs() {
        let extras = PushValue.object(message.extras).json.dropFirst()
        let aps =
            #"{"alert":{"title":"Title","body":"Body"},"badge":3,"sound":"default","category":"C","thread-id":"K"}"#
        let text = #"{"aps":\#(aps),"message_id":"msg-0-y11n5dk7h",\#(extras)"#
        #expect(ReceivedNotification(json: text) == .message(message))
        #expect(ReceivedNotification(json: Array(text.utf8)) == .message(message))
    }

    @Test("document 5 by FCM: extras are strings, with the same text as by APNs; there is no badge")
    func messageByFCM() {
        var expected = message
        expected.badge = nil
        expected.icon = "ic_bell"
        expected.extras = message.extras.mapValues { .string($0.text ?? "") }
        let data = message.extras.compactMapValues(\.text).merging(["message_id": "msg-0-y11n5dk7h"]) { $1 }
        let alert = PushAlert(
            title: "Title", body: "Body", sound: "default", icon: "ic_bell", category: "C", collapseKey: "K")
        #expect(ReceivedNotification(data: data, alert: alert) == .message(expected))
        let shown = #"{"title":"Title","body":"Body","sound":"default","icon":"ic_bell","tag":"C"}"#
        let text = #"{"notification":\#(shown),"collapseKey":"K","data":\#(json(data))}"#
        #expect(ReceivedNotification(json: text) == .message(expected))
    }

    @Test("document 5: a silent message shows nothing, and its extras arrive")
    func silent() {
        let text = #"{"aps":{"content-available":1},"k":"v"}"#
        guard case .message(let message) = ReceivedNotification(json: text) else {
            Issue.record("no message")
            return
        }
        #expect(message == PushMessage(extras: ["k": .string("v")]))
        #expect(message.isSilent)
        #expect(ReceivedNotification(data: ["k": "v"]) == .message(message))
    }

    @Test("an alert may be a string, and a sound a dictionary")
    func otherForms() {
        let text = #"{"aps":{"alert":"Body","sound":{"critical":1,"name":"bell.caf","volume":0.5},"badge":0}}"#
        #expect(
            ReceivedNotification(json: text) == .message(PushMessage(body: "Body", badge: 0, sound: "bell.caf")))
    }

    @Test("§1.2: keys that FCM reserves are no extras; beside aps, in a push that FCM did not send, they are")
    func reservedKeys() {
        let names = ["from", "message_type", "notification", "collapse_key", "google.x", "gcmx"]
        let data = Dictionary(uniqueKeysWithValues: names.map { ($0, "v") })
        let reserved = ReceivedPush(data: data)
        #expect(reserved.data.isEmpty)
        #expect(reserved.alert.collapseKey == "v")
        let direct = ReceivedPush(userInfo: data.merging(["aps": "v"]) { $1 })
        #expect(direct.data == data.mapValues(PushValue.string))
    }
}
