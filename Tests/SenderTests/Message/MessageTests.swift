import JSONReader
import Notifications
import Testing

@testable import Sender

private func bytes<Result>(_ text: String, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try Array(text.utf8).withUnsafeBytes { try body($0) }
}

@Suite("Requests to FCM")
struct FCMRequestTests {
    private func body(_ value: String, seconds: Int64 = 17) throws -> String {
        try bytes(value) { String(decoding: try FCMRequest.body($0, seconds: seconds), as: UTF8.self) }
    }

    /// A message of docs/rules.md §7, with what looks like the member where it is not one.
    private static let message =
        #"{"message":{"token":"a\"b","data":{"ttl":"1s","default":"{\"android\":{\"ttl\":\"2s\"}}"},"#
        + #""android":{"priority":"high","ttl":"3600s","notification":{"ttl":"3s"}},"apns":{"ttl":"4s"}}}"#

    @Test("android.ttl is the time that is left, all other bytes are as they are")
    func timeToLive() throws {
        #expect(try body(Self.message) == Self.message.replacing("3600s", with: "17s"))
        let spaced = "{ \"message\" : {\n\"android\": { \"ttl\" : \"1s\" , \"x\" : [1, {\"a\":2}] } , \"n\": -1.5e3 } }"
        #expect(try body(spaced) == spaced.replacing("\"1s\"", with: "\"17s\""))
        let twice = #"{"message":{"android":{"ttl":"1s"},"android":{"ttl":"2s","ttl":"3s"}}}"#
        #expect(try body(twice) == twice.replacing("3s", with: "17s"))
    }

    @Test("a text ends at its own quotation mark, wherever in it escapes and other characters are")
    func endsOfTexts() throws {
        // Next to the marks in ASCII, and bytes above it.
        for filler in ["x", "!", "#", "[", "]", "é", "\u{7F}", "日"] {
            for count in 0..<20 {
                for end in ["", #"\""#, #"\\"#, #"\"x"#, #"\\\""#] {
                    let text = String(repeating: filler, count: count) + end
                    let value = #"{"message":{"token":"\#(text)","android":{"ttl":"1s"}}}"#
                    #expect(try body(value) == value.replacing(#""1s""#, with: #""17s""#))
                }
            }
        }
    }

    @Test("a message without a ttl is given one: FCM would keep it for four weeks")
    func inserted() throws {
        #expect(try body(#"{"message":{"token":"t"}}"#) == #"{"message":{"android":{"ttl":"17s"},"token":"t"}}"#)
        #expect(
            try body(#"{"message":{"android":{"priority":"high"}}}"#)
                == #"{"message":{"android":{"ttl":"17s","priority":"high"}}}"#)
        #expect(try body(#"{"message":{"android":{}}}"#) == #"{"message":{"android":{"ttl":"17s"}}}"#)
    }

    @Test("a name is the same with escapes: the message must not have two lifetimes")
    func escapedNames() throws {
        for name in [#"\u0074tl"#, #"tt\u006c"#, #"tt\u006C"#, #"\u0074\u0074\u006c"#] {
            let value = #"{"mess\u0061ge":{"andr\u006Fid":{"\#(name)":"3600s"}}}"#
            #expect(try body(value) == value.replacing("3600s", with: "17s"))
        }
        // Other names: the member is added.
        for name in [#"ttl\u0000"#, #"tt\u016c"#, #"t\tl"#, #"tt\u00"#, #"\\u0074tl"#] {
            let value = #"{"message":{"android":{"\#(name)":"3600s"}}}"#
            #expect(try body(value) == value.replacing("{\"\(name)", with: "{\"ttl\":\"17s\",\"\(name)"))
        }
    }

    @Test(
        "what is no message is refused, and not sent",
        arguments: [
            "", "{}", "null", "[]", #"{"message":{}}"#, #"{"message":7}"#, #"{"message":{"token":"t"}"#,
            #"{"message":{"android":7}}"#, #"{"message":{"token":"#, #"{"message":{"token":"t\"#, #"{"message""#,
        ])
    func unreadable(_ value: String) {
        #expect(throws: MessageProblem.unreadableRecord) { try body(value) }
    }

    @Test("§1.2: whole seconds, rounded down, at most four weeks; 0s in the last second")
    func seconds() {
        let cases: [(WallTime, WallTime, Int64)] = [
            (10_999, 0, 10), (999, 0, 0), (1_000, 1_000, 0), (0, 5_000, 0), (.distantFuture, -1, 2_419_200),
            (9_000_000_000, 0, 2_419_200), (.distantPast, 2, 0), (-2, .distantFuture, 0),
        ]
        for (expiresAt, now, seconds) in cases {
            #expect(FCMRequest.secondsLeft(expiresAt: expiresAt, now: now) == seconds)
        }
    }

    @Test("§1.1: the URL of the project, and the token as the authorization")
    func request() throws {
        let token = try #require(BearerToken("made-up".utf8))
        let request = try bytes(Self.message) {
            try FCMRequest(projectID: "shop").request($0, expiresAt: 20_500, token: token, now: 500)
        }
        #expect(request.url == "https://fcm.googleapis.com/v1/projects/shop/messages:send")
        #expect(
            request.headers == [
                .init("authorization", "Bearer made-up"), .init("content-type", "application/json; charset=UTF-8"),
            ])
        #expect(String(decoding: request.body, as: UTF8.self) == Self.message.replacing("3600s", with: "20s"))
    }
}

@Suite("Requests to APNs")
struct APNsRequestTests {
    private static let value =
        #"{"device_token":"00FC13ad","environment":"production","headers":{"apns-topic":"com.example.App","#
        + #""apns-push-type":"background","apns-priority":"5","apns-expiration":"1751900400","#
        + #""apns-collapse-id":"msg-1-a"},"payload":{"aps":{"content-available":1}, "default":"{\"payload\":1}"}}"#

    private func read(_ value: String) throws -> APNsRequest {
        var reader = JSONReader()
        return try bytes(value) { try APNsRequest($0, &reader) }
    }

    @Test("§2.1, §2.2: the record's headers and payload as they are, the token, and the device in the path")
    func request() throws {
        let record = try read(Self.value)
        let token = try #require(BearerToken("made-up".utf8))
        let device = String(repeating: "0a", count: 32)
        let request = bytes("msg-1-a") { message in
            bytes(device) { record.request(messageID: message, device: $0, token: token) }
        }
        #expect(record.app == "com.example.App" && record.environment == .production)
        #expect(request.url == "https://api.push.apple.com/3/device/00FC13ad")
        #expect(
            request.headers.dropLast() == [
                .init("apns-topic", "com.example.App"), .init("apns-push-type", "background"),
                .init("apns-priority", "5"), .init("apns-expiration", "1751900400"),
                .init("apns-collapse-id", "msg-1-a"),
                .init("authorization", "bearer made-up"),
            ])
        #expect(
            String(decoding: request.body, as: UTF8.self)
                == #"{"aps":{"content-available":1}, "default":"{\"payload\":1}"}"#)
        let test = try read(Self.value.replacing("production", with: "development"))
        let other = bytes("m") { m in bytes(device) { test.request(messageID: m, device: $0, token: token) } }
        #expect(other.url.hasPrefix("https://api.sandbox.push.apple.com/3/device/"))
    }

    @Test("the apns-id is a UUID of version 8 that is the same for a repeat, and another for another push or device")
    func identity() {
        func id(_ message: String, _ device: String) -> String {
            bytes(message) { m in bytes(device) { ProviderRequest.apnsID(messageID: m, device: $0) } }
        }
        let first = id("msg-1-a", "00")
        #expect(first == id("msg-1-a", "00") && first != id("msg-1-b", "00") && first != id("msg-1-a", "01"))
        #expect(first.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
    }

    @Test("what is no message for APNs, or would put something into the request, is refused")
    func unreadable() {
        let replaced = [
            ("00FC13ad", "../x"), ("00FC13ad", ""), ("\"production\"", "\"test\""), ("\"com.example.App\"", "7"),
            ("com.example.App", "a\\r\\nb: c"), ("\"apns-priority\"", "\"authorization\""),
            ("\"apns-priority\"", "\"apns-x:\""), ("\"apns-topic\"", "\"apns-topic2\""), ("\"payload\":{", "\"pay\":{"),
            ("com.example.App", ""),
        ]
        for (found, replacement) in replaced {
            #expect(throws: MessageProblem.unreadableRecord, "\(replacement)") {
                try read(Self.value.replacing(found, with: replacement))
            }
        }
        for value in ["", "{}", "[]", #"{"device_token":"00"}"#] {
            #expect(throws: MessageProblem.unreadableRecord) { try read(value) }
        }
    }

    @Test("the payload's name is the same with escapes, and of two the last one is sent")
    func payload() throws {
        let token = try #require(BearerToken("t".utf8))
        for replacement in [#""p\u0061yload":{"#, #""payload":{"old":1},"payload":{"#] {
            let record = try read(Self.value.replacing(#""payload":{"#, with: replacement))
            let request = bytes("m") { m in bytes("00") { record.request(messageID: m, device: $0, token: token) } }
            #expect(
                String(decoding: request.body, as: UTF8.self)
                    == #"{"aps":{"content-available":1}, "default":"{\"payload\":1}"}"#)
        }
    }

    @Test("a record's own apns-id does not replace the one of the push")
    func ownID() throws {
        let record = try read(Self.value.replacing("\"apns-priority\":\"5\"", with: "\"apns-id\":\"x\""))
        let token = try #require(BearerToken("t".utf8))
        let request = bytes("m") { m in bytes("00") { record.request(messageID: m, device: $0, token: token) } }
        #expect(
            request.headers.filter { $0.name == "apns-id" }.count == 1
                && !request.headers.contains(.init("apns-id", "x")))
    }
}
