import Testing

@testable import Notifications

@Suite("The dead letters of broadcasts, with their sentences (docs/rules.md §14.4)")
struct BroadcastDeadLetterTests {
    private static let displayMembers =
        "actiontype, notificationtype, notificationid, expiry, type, channel, poster, fields, audience, published_at"
    private static let nonDisplayMembers =
        "actiontype, notificationtype, notificationid, expiry, channel, data, audience, published_at"
    private static let expiry =
        "a lifetime such as 34646millis, an ISO 8601 time, or milliseconds since 1970 from 10^11 on"
    private static let channel = "one channel/<id> in at most 1,024 bytes"

    private func expect(
        _ result: TestBroadcast, _ sentence: String, _ code: DeadLetter.Code = .badRequest,
        at location: SourceLocation = #_sourceLocation
    ) {
        #expect(result.deadLetter == DeadLetter(code, sentence), sourceLocation: location)
    }

    @Test("what is no object in any envelope, and what cannot be read")
    func unreadable() {
        expect(extractBroadcast("[]"), "the body is not a JSON object", .notAnEvent)
        expect(extractBroadcast("{"), "the value is not JSON", .invalidJSON)
        expect(extractBroadcast("{}"), "actiontype is missing; allowed is display or non-display")
        expect(
            extractBroadcast(nil as String?, key: nil),
            "the record has neither a key nor a value; allowed is the notificationid of what is cancelled")
        expect(
            extractBroadcast(nil as String?, key: ""),
            "the record has neither a key nor a value; allowed is the notificationid of what is cancelled")
    }

    @Test("the key is the notificationid")
    func key() {
        expect(
            extractBroadcast(Document4.display, key: "1236"),
            #"the key is "1236"; allowed is the notificationid, "1235""#)
        expect(
            extractBroadcast(Document4.display, key: nil), #"the key is missing; allowed is the notificationid, "1235""#
        )
        expect(display(#""notificationid":null"#), "notificationid is missing; allowed is a string or a number")
        expect(display(#""notificationid":true"#), "notificationid is a boolean; allowed is a string or a number")
    }

    @Test("a member that its kind of broadcast does not have")
    func unknownMembers() {
        expect(
            display(#""title":"t""#),
            "\"title\" is not a member of a display broadcast; allowed are \(Self.displayMembers)")
        expect(
            display(#""data":null"#),
            "\"data\" is not a member of a display broadcast; allowed are \(Self.displayMembers)")
        for member in ["type", "poster", "fields", "Data", "id"] {
            expect(
                nonDisplay("\"\(member)\":\"x\""),
                "\"\(member)\" is not a member of a non-display broadcast; allowed are \(Self.nonDisplayMembers)")
        }
    }

    @Test("the kinds and their types")
    func types() {
        expect(display(#""actiontype":"show""#), #"actiontype is "show"; allowed is display or non-display"#)
        expect(
            display(#""notificationtype":" ""#),
            "notificationtype is blank; allowed is general, festive, downtime or others")
        expect(
            nonDisplay(#""notificationtype":7"#),
            "notificationtype is a number; allowed is enable-feature or disable-feature")
        expect(
            nonDisplay(#""notificationtype":"general""#),
            #""general" is no notificationtype of a non-display broadcast; allowed are enable-feature and disable-feature"#,
            .unknownType)
        expect(display(#""type":"yes""#), #"type is "yes"; allowed is cancellable or non-cancellable"#)
        expect(display(#""type":true"#), "type is a boolean; allowed is cancellable or non-cancellable")
        expect(nonDisplay(#""data":{"a":1}"#), "data is an object; allowed is a string")
    }

    @Test("the audience is exactly one channel")
    func audience() {
        expect(display(#""audience":["channel/a"]"#), "audience is a list; allowed is \(Self.channel)")
        for other in ["place/7", "user/17", "channel/", "General"] {
            expect(display(#""audience":"\#(other)""#), "audience is \"\(other)\"; allowed is \(Self.channel)")
        }
        let long = String(repeating: "x", count: 1_017)
        expect(
            display(#""channel":"\#(long)""#),
            "channel is \"\(long.prefix(64))…\"; allowed is the id of a channel, in at most 1,016 bytes without control characters"
        )
        #expect(display(#""channel":"\#(long.dropLast())""#).published != nil)
        expect(display(#""channel":7"#), "channel is a number; allowed is a string")
        expect(
            display(#""channel":"a","audience":"channel/a""#),
            "audience and channel are both there; allowed is one of them", .conflictingValue)
    }

    @Test("expiry and published_at")
    func times() {
        expect(display(#""expiry":null"#), "expiry is missing; allowed is \(Self.expiry)")
        for value in [
            "34646", "99999999999", "1751875337000.5", #""34646""#, #""millis""#, #""-1millis""#, #""5 millis""#,
            #""1751875337""#, #""tomorrow""#, #""2025-07-07""#, #""٣millis""#, #""1000000000000000000millis""#,
        ] {
            expect(display(#""expiry":\#(value)"#), "expiry is \(value); allowed is \(Self.expiry)")
        }
        expect(
            display(#""expiry":"2419200001millis""#),
            "expiry is 2419200001 ms after published_at; allowed are at most 2419200000, which is 28 days")
        expect(
            display(#""expiry":"2025-08-04T08:02:17.001Z""#),
            "expiry is 2419200001 ms after published_at; allowed are at most 2419200000, which is 28 days")
        #expect(display(#""expiry":"2025-08-04T08:02:17.001Z","published_at":1751875337001"#).published != nil)
        expect(
            display(#""published_at":"now""#),
            #"published_at is "now"; allowed is an ISO 8601 time, or seconds or milliseconds since 1970"#)
    }

    @Test("the poster is an https URL")
    func poster() {
        let allowed = "a URL that begins with https://, without spaces"
        for value in ["http://example.com/p.png", "https://", "https://a b", "image-url"] {
            expect(display(#""poster":"\#(value)""#), "poster is \"\(value)\"; allowed is \(allowed)")
        }
        expect(display(#""poster":[]"#), "poster is a list; allowed is \(allowed)")
    }

    @Test("fields: one language or more, each once, each with all three members")
    func fields() {
        let list = "a list of objects with language, title and msg"
        expect(display(#""fields":null"#), "fields is missing; allowed is \(list)")
        expect(display(#""fields":"[]""#), "fields is a string; allowed is \(list)")
        expect(display(#""fields":[]"#), "fields has 0 entries; allowed are 1 to 100")
        func texts(_ count: Int) -> String {
            (0..<count).map { #"{"language":"l\#($0)","title":"t","msg":"m"}"# }.joined(separator: ",")
        }
        expect(display(#""fields":[\#(texts(101))]"#), "fields has 101 entries; allowed are 1 to 100")
        #expect(display(#""fields":[\#(texts(100))]"#).display?.texts.count == 100)
        let first = #"{"language":"pt-BR","title":"t","msg":"m"}"#
        expect(display(#""fields":[\#(first),7]"#), "fields[1] is a number; allowed is an object")
        let required = "a string that is not blank"
        for (text, sentence) in [
            (#"{"title":"t","msg":"m"}"#, "fields[1].language is missing; allowed is \(required)"),
            (#"{"language":"en","title":"","msg":"m"}"#, "fields[1].title is blank; allowed is \(required)"),
            (#"{"language":"en","title":"t","msg":7}"#, "fields[1].msg is a number; allowed is \(required)"),
            (
                #"{"language":"en US","title":"t","msg":"m"}"#,
                "fields[1].language is \"en US\"; allowed is a language tag of at most 35 ASCII letters, digits, - and _"
            ),
            (
                #"{"language":"\#(String(repeating: "x", count: 36))","title":"t","msg":"m"}"#,
                "fields[1].language is \"\(String(repeating: "x", count: 36))\"; allowed is a language tag of at most 35 ASCII letters, digits, - and _"
            ),
            (
                #"{"language":"en","title":"t","msg":"m","message":"m"}"#,
                "\"message\" is not a member of fields[1]; allowed are language, title, msg"
            ),
        ] {
            expect(display(#""fields":[\#(first),\#(text)]"#), sentence)
        }
        for again in ["pt-BR", "PT_br"] {
            expect(
                display(#""fields":[\#(first),\#(texts(1)),{"language":"\#(again)","title":"t","msg":"m"}]"#),
                "fields[2].language is \"\(again)\", which fields[0] has; allowed is each language once",
                .conflictingValue)
        }
    }
}
