import NotificationPayload
import TestSupport
import Testing

@testable import Notifications

@Suite("The members of a broadcast (docs/rules.md §14.1)")
struct BroadcastMemberTests {
    @Test("document 4's display payload, as it is, is a broadcast to its channel")
    func documentDisplay() {
        let text = Broadcast.Text(
            language: "en", title: "Welcome to Sunbird!",
            message: "Congratulations on downloading Sunbird, every child's best friend in their learning journey.")
        let hindi = Broadcast.Text(language: "hi", title: text.title, message: text.message)
        let expected = BroadcastNotification(
            notificationID: "1235", messageID: "msg-1751875337000-web7dzoh8", audience: "channel/channel-id",
            channel: "channel-id", publishedAt: broadcastTime,
            expiry: .lifetime(milliseconds: 34_646),
            content: .display(
                Broadcast.Display(
                    kind: .general, isCancellable: true, poster: "https://example.com/poster.png",
                    texts: [text, hindi])))
        let found = extractBroadcast(Document4.display)
        #expect(found.published == expected)
        #expect(found.published?.expiresAt == broadcastTime + 34_646)
    }

    @Test("document 4's non-display payload, as it is, is a broadcast to channel/General")
    func documentNonDisplay() {
        let expected = BroadcastNotification(
            notificationID: "1235", messageID: "msg-1751875337000-14vkdjef3", audience: "channel/General",
            channel: nil, publishedAt: broadcastTime,
            expiry: .lifetime(milliseconds: 34_646),
            content: .nonDisplay(Broadcast.NonDisplay(kind: .enableFeature, data: "free form string data")))
        #expect(extractBroadcast(Document4.nonDisplay).published == expected)
        #expect(nonDisplay(#""notificationtype":"disable-feature""#).nonDisplay?.kind == .disableFeature)
        #expect(nonDisplay(#""data":" a {free} text\n""#).nonDisplay?.data == " a {free} text\n")
        #expect(nonDisplay(#""data":null"#).nonDisplay == Broadcast.NonDisplay(kind: .enableFeature))
    }

    @Test("the audience is audience, else the channel, else everybody's")
    func audience() {
        #expect(display(#""audience":"channel/a/b""#).published?.audience == "channel/a/b")
        #expect(display(#""audience":"channel/a""#).published?.channel == nil)
        #expect(nonDisplay(#""channel":"Öl 7""#).published?.audience == "channel/Öl 7")
        #expect(display(#""audience":null,"channel":" ""#).published?.audience == "channel/General")
    }

    @Test("a type of a display broadcast that the document does not list is others, and counted")
    func unknownType() {
        for kind in Broadcast.Display.Kind.allCases {
            let found = display(#""notificationtype":"\#(kind.rawValue)""#)
            #expect(found.display?.kind == kind && found.unknownTypes == 0)
        }
        for name in ["General", "general/festive/downtime/others", "enable-feature"] {
            let found = display(#""notificationtype":"\#(name)""#)
            #expect(found.display?.kind == .others && found.unknownTypes == 1)
        }
        let refused = display(#""notificationtype":"x","fields":[]"#)
        #expect(refused.deadLetter != nil && refused.unknownTypes == 0)
    }

    @Test("who can dismiss it: cancellable, non-cancellable, and cancellable by default")
    func cancellable() {
        #expect(display(#""type":"cancellable""#).display?.isCancellable == true)
        #expect(display(#""type":"non-cancellable""#).display?.isCancellable == false)
        #expect(display(#""type":null"#).display?.isCancellable == true)
    }

    @Test(
        "an expiry is a lifetime, an ISO time, or milliseconds since 1970 as a number or a text",
        arguments: [
            (#""0millis""#, .lifetime(milliseconds: 0)), (#"" 034646millis""#, .lifetime(milliseconds: 34_646)),
            (#""2419200000millis""#, .lifetime(milliseconds: 2_419_200_000)),
            (#""2025-07-07T10:02:17+02:00""#, .instant(milliseconds: broadcastTime.milliseconds)),
            (#""2025-08-04T08:02:17Z""#, .instant(milliseconds: broadcastTime.milliseconds + 2_419_200_000)),
            ("1751875337001", .instant(milliseconds: broadcastTime.milliseconds + 1)),
            (#""1751875337001""#, .instant(milliseconds: broadcastTime.milliseconds + 1)),
            ("100000000000", .instant(milliseconds: 100_000_000_000)),
        ] as [(String, Broadcast.Expiry)])
    func expiry(value: String, expected: Broadcast.Expiry) {
        #expect(display(#""expiry":\#(value)"#).published?.expiry == expected)
    }

    @Test("the time of publication is published_at, else the record's timestamp, else 1970; lifetimes count from it")
    func publishedAt() {
        let found = display(#""published_at":"2025-07-07T08:03:17Z""#).published
        #expect(found?.publishedAt == broadcastTime + 60_000)
        #expect(found?.expiresAt == broadcastTime + 120_000)
        #expect(display(#""published_at":1751875337"#).published?.publishedAt == broadcastTime)
        #expect(extractBroadcast(Document4.display, timestamp: nil).published?.publishedAt == 0)
        #expect(extractBroadcast(Document4.display, timestamp: -5).published?.publishedAt == 0)
    }

    @Test("texts are as they are, and languages keep their order and their spelling")
    func texts() {
        let one = #"{"language":"pt_BR","title":" Olá \"x\"","msg":"a\nb"}"#
        let other = #"{"msg":"c","title":"d","language":"pt"}"#
        #expect(
            display(#""fields":[\#(one),\#(other)]"#).display?.texts == [
                Broadcast.Text(language: "pt_BR", title: " Olá \"x\"", message: "a\nb"),
                Broadcast.Text(language: "pt", title: "d", message: "c"),
            ])
    }

    @Test("a null value cancels the broadcast of its key")
    func tombstone() {
        #expect(extractBroadcast(nil as String?, key: "1235").cancelled == "1235")
    }

    @Test("a number is an id too, and the last of two members counts")
    func forms() {
        #expect(display(#""notificationid":1235"#).published?.notificationID == "1235")
        #expect(display(#""notificationid":" 1235 ""#).published?.notificationID == "1235")
        #expect(display(#""poster":7,"poster":null"#).display?.poster == nil)
    }

    @Test("every envelope of events gives the same broadcast")
    func envelopes() {
        let value = Document4.nonDisplay
        let expected = extractBroadcast(value).published
        let text = PushValue.string(value).json
        let event = #"{"specversion":"1.0","id":"1","source":"/s","type":"t","data":"#
        for envelope in [text, #"{"schema":{},"payload":\#(value)}"#, event + value + "}", event + text + "}"] {
            #expect(extractBroadcast(envelope).published == expected, "\(envelope)")
        }
        let framed = [0, 0, 0, 0, 7] + Array(value.utf8)
        #expect(extractBroadcast(framed, key: "1235", timestamp: broadcastTime).published == expected)
        let structured = [("content-type", "application/cloudevents+json")]
        #expect(extractBroadcast(event + value + "}", headers: structured).published == expected)
    }

    @Test("§6: published again at the same time it has the same id, at another time or of another kind another")
    func messageID() {
        func id(_ members: String) -> String? { display(members).published?.messageID }
        let earlier = #""published_at":1751875337000"#
        #expect(id(earlier) == "msg-1751875337000-web7dzoh8")
        #expect(id(#"\#(earlier),"poster":"https://a""#) == "msg-1751875337000-web7dzoh8")
        #expect(id(#""published_at":1751875397000"#) == "msg-1751875397000-k097vw46p")
        #expect(nonDisplay(earlier).published?.messageID == "msg-1751875337000-14vkdjef3")
        #expect(extractBroadcast(Document4.display, timestamp: nil).published?.messageID == "msg-0-pdls5sen0")
    }

    @Test("bytes that nobody meant are a broadcast or a dead letter, and no trap", arguments: [81, 82] as [UInt64])
    func anyBytes(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<4_000 {
            var bytes = Array((Bool.random(using: &generator) ? Document4.display : Document4.nonDisplay).utf8)
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let index = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes.insert(contentsOf: bytes[index...].prefix(9), at: index)
                default: bytes.removeSubrange(index..<min(index + 5, bytes.count - 1))
                }
            }
            let found = extractBroadcast(bytes, key: "1235", timestamp: broadcastTime)
            #expect((found.published == nil) != (found.deadLetter == nil))
        }
    }
}
