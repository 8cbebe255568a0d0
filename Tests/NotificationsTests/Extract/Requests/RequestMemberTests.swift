import Testing

@testable import Notifications

@Suite("The members of a request (docs/rules.md §8.1 to §8.5)")
struct RequestMemberTests {
    @Test("§8: every envelope gives the same request")
    func envelopes() {
        let body = #"{"audience":"user/17","message":{"title":"Bills"}}"#
        let quoted = "\"" + body.replacing("\"", with: "\\\"") + "\""
        let cloud = #"{"specversion":"1.0","id":"i","source":"s","data":\#(body)}"#
        let base64 = "eyJhdWRpZW5jZSI6InVzZXIvMTciLCJtZXNzYWdlIjp7InRpdGxlIjoiQmlsbHMifX0="
        for value in [
            body, quoted, #"{"schema":{},"payload":\#(body)}"#, #"{"schema":{},"payload":\#(quoted)}"#, cloud,
            #"{"specversion":"1.0","data_base64":"\#(base64)"}"#, "\0\0\0\0\u{7}" + body,
        ] {
            #expect(extractRequest(value).request?.shown["title"] == "Bills", "\(value)")
        }
        let structured = requestRecord(
            #"{"data":\#(body),"audience":"x"}"#, headers: [("Content-Type", "Application/CloudEvents+json")])
        #expect(extractRequests([structured])[0].request?.shown["title"] == "Bills")
    }

    @Test("§8: an object with audience, app or message is the request itself")
    func noEnvelope() {
        let members = #""specversion":"1.0","data":{},"schema":1,"payload":2"#
        #expect(extractRequest(#"{\#(members),"audience":"user/17","message":{"title":"a"}}"#).code == .badRequest)
        #expect(extractRequest(#"{\#(members),"audience":null}"#).code == .badRequest)
    }

    @Test("§8.1: null and blank strings are absent, strings are not trimmed")
    func absent() throws {
        let result = extractRequest(
            #"{"request_id":null,"requested_at":"","expires_at":" ","collapse_key":"\u3000","priority":null,"app":"","audience":"user/17","message":{"title":" 42\u3000","body":" "}}"#
        )
        let request = try #require(result.request)
        #expect(request.shown == ["title": " 42\u{3000}"])
        #expect(request.collapseKey == nil)
        #expect(request.eventTime == requestTime)
        #expect(request.expiresAt == requestTime + 86_400_000)
    }

    @Test("§8.1: a member that occurs twice counts with its last value, in the place of its first occurrence")
    func repeated() throws {
        let result = extractRequest(
            #"{"audience":"place/1","message":{"title":1,"extras":{"a":1,"b":2,"a":{"x":1,"x":2},"c":1,"c":null,"d":null,"d":3},"title":"B"},"audience":"user/17"}"#
        )
        let request = try #require(result.request)
        #expect(request.audiences == ["user/17"])
        #expect(request.shown["title"] == "B")
        #expect(request.beside == #""a":{"x":1,"x":2},"b":2,"d":3,"#)
        #expect(request.members == #""a":"{\"x\":1,\"x\":2}","b":"2","d":"3","#)
    }

    @Test("§8.2: audiences are kept in their order, repeated ones once")
    func audiences() throws {
        let hash = String(repeating: "0a", count: 32)
        let names = [
            "place/1", "user/ä b", "channel/news", "device/\(hash)", "user/" + String(repeating: "x", count: 1_019),
        ]
        let listed = (names + names).map { "\"\($0)\"" }.joined(separator: ",")
        let result = extractRequest(#"{"audience":[\#(listed)],"message":{"title":"a"}}"#)
        #expect(result.request?.audiences == names)
        let many = (0..<1_000).map { "\"user/\($0 % 500)\"" }.joined(separator: ",")
        let found = extractRequest(#"{"audience":[\#(many)],"message":{"title":"a"}}"#).request?.audiences
        #expect(found == (0..<500).map { "user/\($0)" })
    }

    @Test("§8.2: an audience that is none of the four kinds is a dead letter")
    func wrongAudiences() {
        let hash = String(repeating: "0a", count: 32)
        let long = "user/" + String(repeating: "x", count: 1_020)
        for name in [
            "user/", "team/7", "user", "User/7", #"user/a\nb"#, #"user/\u007f"#, "device/17",
            "device/\(hash.uppercased())", long, "place/", "channel/", " user/17", "",
        ] {
            #expect(extractRequest(#"{"audience":"\#(name)","message":{"title":"a"}}"#).code == .badRequest, "\(name)")
        }
    }

    @Test("§8.9: requests.audiences says which audiences a request may name")
    func permittedAudiences() {
        let rules = RequestRules(audiences: ["channel/*", "place/7"])
        func letter(_ audience: String) -> String? {
            extractRequest(#"{"audience":\#(audience),"message":{"title":"a"}}"#, rules: rules).sentence
        }
        for permitted in [#""channel/a""#, #""place/7""#, #"["place/7","channel/b/c"]"#] {
            #expect(letter(permitted) == nil)
        }
        for (audience, name) in [
            (#""place/70""#, #"audience is "place/70""#), (#""user/1""#, #"audience is "user/1""#),
            (#"["place/7","user/1"]"#, #"audience[1] is "user/1""#),
        ] {
            #expect(letter(audience) == "\(name); requests.audiences allows channel/*, place/7")
        }
    }

    @Test("§8.3: event time and expiry")
    func expiry() {
        let later = requestTime + 1_999
        #expect(message().request?.expiresAt == requestTime + 86_400_000)
        #expect(message(beside: #""expires_at":"2025-07-07T08:02:18.999Z""#).request?.expiresAt == later)
        #expect(message(#""validUntil":\#(later.milliseconds)"#).request?.expiresAt == later)
        #expect(message(#""validUntil":"2025-07-07T10:02:18.999+02:00""#).request?.fcmExpiresAt == later)
        let rules = RequestRules(timeToLive: .seconds(60))
        #expect(message(rules: rules).request?.fcmExpiresAt == requestTime + 60_000)
        #expect(message(#""validUntil":\#(later.milliseconds)"#, rules: rules).request?.fcmExpiresAt == later)
    }

    @Test(
        "§8.3: the event time is requested_at, otherwise a valid ce_time, otherwise the record's timestamp, otherwise 0"
    )
    func eventTime() {
        func time(_ members: String, _ ceTime: String? = nil, timestamp: WallTime? = requestTime) -> WallTime? {
            var record = requestRecord(
                #"{"audience":"user/17","message":{"title":"a"}\#(members)}"#,
                headers: ceTime.map { [("ce_time", $0)] } ?? [])
            record.timestamp = timestamp
            return extractRequests([record])[0].request?.eventTime
        }
        #expect(time(#","requested_at":1751875338"#, "2025-07-07T08:02:19Z") == requestTime + 1_000)
        #expect(time("", "2025-07-07T08:02:19Z") == requestTime + 2_000)
        #expect(time("", "tomorrow") == requestTime)
        #expect(time("", timestamp: nil) == 0)
        #expect(time(#","request_id":"own""#) == requestTime)
    }

    @Test("§8.9: with requests.compat-ignore-valid-until FCM's message ignores validUntil, and only that")
    func ignoredExpiry() {
        let rules = RequestRules(ignoresValidUntil: true)
        let request = message(#""validUntil":\#(requestTime.milliseconds + 5)"#, rules: rules).request
        #expect(request?.expiresAt == requestTime + 5)
        #expect(request?.fcmExpiresAt == requestTime + 86_400_000)
        let other = message(beside: #""expires_at":\#(requestTime.milliseconds + 5)"#, rules: rules).request
        #expect(other?.fcmExpiresAt == requestTime + 5)
    }

    @Test("§8.4: the priority is high, and normal for a silent message, unless the request names one")
    func priority() {
        #expect(message().request?.priority == .high)
        #expect(message(#""silent":true"#).request?.priority == .normal)
        #expect(message(#""silent":true"#, beside: #""priority":"high""#).request?.priority == .high)
        #expect(message(beside: #""priority":"normal""#).request?.priority == .normal)
        #expect(app("", "").request?.priority == .high)
    }

    @Test("§8.5: the key is collapse_key, otherwise message.collapseKey; what no header can hold is hashed")
    func collapseKey() {
        func key(_ text: String) -> String? { message(beside: "\"collapse_key\":\"\(text)\"").request?.collapseKey }
        #expect(message().request?.collapseKey == nil)
        #expect(key("bills") == "bills")
        #expect(message(#""collapseKey":"bills","silent":true"#).request?.collapseKey == "bills")
        #expect(key(#"a\"\\~!"#) == #"a\"\\~!"#)
        let long = String(repeating: "x", count: 64)
        #expect(key(long) == long)
        #expect(key("two words") == "a03f1d611645eb53ad16c1af546ca0792dc884505bab57ede80f4dad6b911d3a")
        #expect(key("two words") == message(#""collapseKey":"two words""#).request?.collapseKey)
        for text in [long + "x", "schlüssel", #"a\u0001"#, " a"] {
            #expect(key(text)?.count == 64, "\(text)")
            #expect(key(text)?.allSatisfy(\.isHexDigit) == true, "\(text)")
        }
    }
}
