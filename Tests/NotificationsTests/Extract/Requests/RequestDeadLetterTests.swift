import Testing

@testable import Notifications

@Suite("The dead letters of requests, with their sentences (docs/rules.md §8.7)")
struct RequestDeadLetterTests {
    private static let audiences =
        "place/<id>, user/<id>, channel/<id> or device/<SHA-256 of the token> in at most 1,024 bytes"
    private static let time = "an ISO 8601 time, or seconds or milliseconds since 1970"
    private static let requestMembers =
        "request_id, requested_at, audience, expires_at, collapse_key, priority, app, message"
    private static let messageMembers =
        "title, body, titleLocKey, titleLocArgs, bodyLocKey, bodyLocArgs, badge, sound, icon, category, collapseKey, validUntil, extras, silent"

    private func expect(
        _ result: TestRequestResult, _ sentence: String, _ code: DeadLetter.Code = .badRequest,
        at location: SourceLocation = #_sourceLocation
    ) {
        #expect(result.deadLetter == DeadLetter(code, sentence), sourceLocation: location)
    }

    private func bare(_ members: String) -> TestRequestResult { extractRequest("{\(members)}") }

    private func app(_ title: String, _ members: String) -> TestRequestResult {
        request(#""app":{"title":\#(title),"body":"b",\#(members)}"#)
    }

    @Test("the members of the request")
    func requestMembers() {
        let rest = #""message":{"title":"a"}"#
        let own = "\(rest),\"audience\":\"user/17\""
        expect(bare("\(own),\"request_id\":{}"), "request_id is an object; allowed is a string or a number")
        expect(bare("\(own),\"requested_at\":\"tomorrow\""), "requested_at is \"tomorrow\"; allowed is \(Self.time)")
        expect(bare("\(own),\"requested_at\":-1.5"), "requested_at is -1.5; allowed is \(Self.time)")
        expect(bare("\(own),\"expires_at\":false"), "expires_at is a boolean; allowed is \(Self.time)")
        expect(bare("\(own),\"collapse_key\":17"), "collapse_key is a number; allowed is a string")
        expect(bare("\(own),\"priority\":\"urgent\""), "priority is \"urgent\"; allowed is high or normal")
        expect(bare("\(own),\"priority\":10"), "priority is a number; allowed is high or normal")
        expect(bare("\(own),\"app\":[]"), "the request has app and message; allowed is exactly one of them")
        expect(
            bare(#""audience":"user/17""#), "the request has neither app nor message; allowed is exactly one of them")
        expect(bare(#""audience":"user/17","app":[]"#), "app is a list; allowed is an object")
        expect(bare(#""audience":"user/17","message":"a""#), "message is a string; allowed is an object")
        expect(
            bare("\(own),\"colapse_key\":null"),
            "\"colapse_key\" is not a member of the request; allowed are \(Self.requestMembers)")
        expect(bare("\(own),\"\":1"), "\"\" is not a member of the request; allowed are \(Self.requestMembers)")
        expect(bare("\(own),\"data\":1"), "\"data\" is not a member of the request; allowed are \(Self.requestMembers)")
    }

    @Test("the audience")
    func audience() {
        func found(_ value: String) -> TestRequestResult { bare(#""message":{"title":"a"},"audience":\#(value)"#) }
        expect(found("null"), "audience is missing; allowed is \(Self.audiences)")
        expect(found("\" \""), "audience is blank; allowed is \(Self.audiences)")
        expect(found("17"), "audience is a number; allowed is \(Self.audiences)")
        expect(found("\"team/7\""), "audience is \"team/7\"; allowed is \(Self.audiences)")
        expect(
            found(#"["user/1","user/2","user/3","team/7"]"#), "audience[3] is \"team/7\"; allowed is \(Self.audiences)")
        expect(found("[null]"), "audience[0] is missing; allowed is \(Self.audiences)")
        expect(found("[]"), "audience has 0 entries; allowed are 1 to 1,000")
        let many = Array(repeating: "\"user/17\"", count: 1_001).joined(separator: ",")
        expect(found("[\(many)]"), "audience has 1001 entries; allowed are 1 to 1,000")
    }

    @Test("the members of app")
    func appMembers() {
        let data = #""data":{"type":"Generic"}"#
        expect(app("null", data), "app.title is missing; allowed is a string that is not blank")
        expect(app(#""\u00a0""#, data), "app.title is blank; allowed is a string that is not blank")
        expect(app("42", data), "app.title is a number; allowed is a string that is not blank")
        expect(app("\"a\"", "\"body\":true"), "app.body is a boolean; allowed is a string that is not blank")
        let image = "allowed is a URL that begins with https:// or http://"
        expect(app("\"a\"", "\(data),\"imageUrl\":\"ic_stat\""), "app.imageUrl is \"ic_stat\"; \(image)")
        expect(app("\"a\"", "\(data),\"imageUrl\":1"), "app.imageUrl is a number; \(image)")
        expect(app("\"a\"", "\"imageUrl\":null"), "app.data is missing; allowed is an object")
        expect(app("\"a\"", "\"data\":\"x\""), "app.data is a string; allowed is an object")
        expect(app("\"a\"", "\"data\":{}"), "app.data.type is missing; allowed is a string or a number")
        expect(app("\"a\"", "\"data\":{\"type\":\" \"}"), "app.data.type is blank; allowed is a string or a number")
        expect(app("\"a\"", "\"data\":{\"type\":[]}"), "app.data.type is a list; allowed is a string or a number")
        expect(
            app("\"a\"", "\(data),\"imageURL\":null"),
            "\"imageURL\" is not a member of app; allowed are title, body, imageUrl, data")
    }

    @Test("the members of message")
    func messageMembers() {
        expect(message("\"sound\":[]"), "message.sound is a list; allowed is a string")
        let badge = "allowed is an integer from 0 to 2147483647"
        expect(message("\"badge\":\"3\""), "message.badge is a string; \(badge)")
        expect(message("\"badge\":-1"), "message.badge is -1; \(badge)")
        expect(message("\"badge\":18446744073709551615"), "message.badge is 18446744073709551615; \(badge)")
        expect(message("\"badge\":1.0"), "message.badge is a number; \(badge)")
        expect(message("\"validUntil\":\"24h\""), "message.validUntil is \"24h\"; allowed is \(Self.time)")
        expect(message("\"silent\":\"true\""), "message.silent is a string; allowed is true or false")
        expect(message("\"extras\":[]"), "message.extras is a list; allowed is an object")
        expect(message("\"titleLocArgs\":{}"), "message.titleLocArgs is an object; allowed is a list of strings")
        expect(
            message(#""bodyLocKey":"B","bodyLocArgs":["a",1]"#),
            "message.bodyLocArgs[1] is a number; allowed is a string")
        expect(
            message("\"titleLocArgs\":[\"a\"]"),
            "message.titleLocArgs is there without titleLocKey; allowed are both or neither")
        expect(
            message("\"bodyLocArgs\":[\"a\"],\"bodyLocKey\":\" \""),
            "message.bodyLocArgs is there without bodyLocKey; allowed are both or neither")
        expect(
            message("\"colapseKey\":\"a\""),
            "\"colapseKey\" is not a member of message; allowed are \(Self.messageMembers)")
        let nothing = "message has neither a title nor a body; allowed is that only if silent is true"
        expect(request("\"message\":{}"), nothing)
        expect(request(#""message":{"badge":3,"silent":false,"title":" "}"#), nothing)
    }

    @Test("reserved keys")
    func keys() {
        func inData(_ key: String) -> TestRequestResult { typed("Generic", "\"\(key)\":1") }
        func inExtras(_ key: String) -> TestRequestResult { message("\"extras\":{\"\(key)\":1}") }
        expect(inData("google.x"), "\"google.x\" in app.data is reserved for FCM")
        expect(inData("aps"), "\"aps\" in app.data is reserved for APNs")
        expect(inExtras("message_id"), "\"message_id\" in message.extras is reserved for Carillon")
        expect(inExtras("type"), "\"type\" in message.extras is reserved for other kinds of push")
        expect(inData("default"), "\"default\" in app.data is reserved for other kinds of push")
        expect(inData("”"), "app.data has an empty key")
        expect(inExtras(""), "message.extras has an empty key")
    }

    @Test("values that contradict each other")
    func conflicts() {
        expect(
            message("\"collapseKey\":\"a\"", beside: "\"collapse_key\":\"a\""),
            "collapse_key and message.collapseKey are both there; allowed is one of them", .conflictingValue)
        expect(
            message("\"validUntil\":1751875337", beside: "\"expires_at\":1751875337"),
            "expires_at and message.validUntil are both there; allowed is one of them", .conflictingValue)
        #expect(message("\"collapseKey\":\"\"", beside: "\"collapse_key\":\"a\"").request != nil)
        expect(
            typed("FinoDisconnected", "\"action\":\"added\""),
            "app.data.action is \"added\"; the type FinoDisconnected has \"deleted\"", .conflictingValue)
        expect(
            typed("Generic", "\"imageUrl\":\"a\"", "\"imageUrl\":\"https://a\""),
            "app.imageUrl and app.data.imageUrl are both there; allowed is one of them", .conflictingValue)
        #expect(typed("Generic", "\"imageUrl\":null", "\"imageUrl\":\"https://a\"").request != nil)
        #expect(typed("Generic", "\"imageUrl\":1").request?.beside == #""type":"Generic","imageUrl":"1","#)
        expect(
            message("\"silent\":true,\"extras\":{\"order_type\":\"D2D\",\"order_id\":1}"),
            "message is silent, but its order_type and order_id are a deep link, which needs an alert to tap",
            .conflictingValue)
    }

    @Test("the codes of events")
    func unreadable() {
        func code(_ bytes: [UInt8]?) -> DeadLetter.Code? { extractRequests([TestRecord(bytes: bytes)])[0].code }
        #expect(code(nil) == .nullValue)
        #expect(code([]) == .invalidJSON)
        #expect(code(Array(repeating: 0x20, count: 1 << 20 + 1)) == .valueTooLarge)
        #expect(
            code(Array("{\"a\":\(String(repeating: "[", count: 70))\(String(repeating: "]", count: 70))}".utf8))
                == .tooDeep)
        #expect(code([0x22, 0xFF, 0x22]) == .invalidUTF8)
        #expect(code(Array("{".utf8)) == .invalidJSON)
        #expect(code(Array(#"{"audience":1e400}"#.utf8)) == .invalidNumber)
        #expect(code(Array("[]".utf8)) == .notAnEvent)
        #expect(code(Array(#"{"specversion":"1.0","data_base64":"*"}"#.utf8)) == .notAnEvent)
    }
}
