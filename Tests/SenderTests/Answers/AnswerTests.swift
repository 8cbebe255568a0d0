import Notifications
import Testing

@testable import Sender

/// A row of the tables of docs/rules.md §11.
struct AnswerRow: CustomTestStringConvertible, Sendable {
    var name: String
    var status: Int
    var body: String
    var headers: [String: String]
    var verdict: Verdict

    init(_ name: String, _ status: Int, _ body: String, _ headers: [String: String], _ verdict: Verdict) {
        self.name = name
        self.status = status
        self.body = body
        self.headers = headers
        self.verdict = verdict
    }

    init(_ name: String, _ status: Int, _ body: String, _ verdict: Verdict) {
        self.init(name, status, body, [:], verdict)
    }

    var testDescription: String { name }

    func read(from platform: Platform, now: WallTime = noon) -> Verdict {
        var reader = AnswerReader()
        return Array(body.utf8).withUnsafeBytes { bytes in
            let answer = ProviderAnswer(status: status, body: bytes) { headers["\($0)"] }
            return reader.verdict(of: answer, from: platform, now: now)
        }
    }
}

/// 1994-11-06T08:49:37Z, the date in HTTP's own examples.
let noon: WallTime = 784_111_777_000

/// An error as FCM writes it.
private func fcm(
    _ code: Int, _ status: String, _ errorCode: String? = nil, field: String? = nil, message: String = "m"
) -> String {
    var details: [String] = []
    if let errorCode {
        details.append(
            #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(errorCode)"}"#)
    }
    if let field {
        details.append(
            #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"\#(field)"}]}"#)
    }
    let list = details.joined(separator: ",")
    return #"{"error":{"code":\#(code),"message":"\#(message)","status":"\#(status)","details":[\#(list)]}}"#
}

private let html = "<html><title>Error 502 (Server Error)!!1</title></html>"
private let badToken = "The registration token is not a valid FCM registration token"

@Suite("§11.1 FCM's answers")
struct FCMAnswerTests {
    static let rows: [AnswerRow] = [
        .init(
            "200", 200, #"{"name":"projects/shop/messages/0:17%a"}"#,
            .accepted(providerID: "projects/shop/messages/0:17%a")),
        .init("200 without a name", 200, "", .accepted(providerID: nil)),
        .init(
            "400 INVALID_ARGUMENT on message.token", 400,
            fcm(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", field: "message.token"),
            .deadDevice(reason: "INVALID_ARGUMENT", .now)),
        .init(
            "400 INVALID_ARGUMENT that says it of the token", 400,
            fcm(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", message: badToken),
            .deadDevice(reason: "INVALID_ARGUMENT", .now)),
        .init(
            "400 INVALID_ARGUMENT on the payload is no dead token (finding 5)", 400,
            fcm(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", field: "message.data[0].value"),
            .refused(reason: "INVALID_ARGUMENT")),
        .init(
            "400 INVALID_ARGUMENT bare: too large", 400, fcm(400, "INVALID_ARGUMENT"),
            .refused(reason: "INVALID_ARGUMENT")),
        .init("400 with another code", 400, fcm(400, "FAILED_PRECONDITION"), .refused(reason: "FAILED_PRECONDITION")),
        .init(
            "401 THIRD_PARTY_AUTH_ERROR", 401, fcm(401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR"),
            .refused(reason: "THIRD_PARTY_AUTH_ERROR")),
        .init(
            "401 without FcmError", 401, fcm(401, "UNAUTHENTICATED"), .refreshCredential(reason: "UNAUTHENTICATED")),
        .init(
            "403 SENDER_ID_MISMATCH never deletes", 403, fcm(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH"),
            .refused(reason: "SENDER_ID_MISMATCH")),
        .init("403 otherwise", 403, fcm(403, "PERMISSION_DENIED"), .pauseCredential(reason: "PERMISSION_DENIED")),
        .init(
            "404 UNREGISTERED", 404, fcm(404, "NOT_FOUND", "UNREGISTERED"), .deadDevice(reason: "UNREGISTERED", .now)),
        .init(
            "404 without FcmError: a wrong project", 404, fcm(404, "NOT_FOUND"),
            .pauseCredential(reason: "NOT_FOUND")),
        .init("404 with HTML", 404, html, .pauseCredential(reason: "http_404")),
        .init(
            "429 with Retry-After", 429, fcm(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"), ["retry-after": "2"],
            .slowDown(reason: "QUOTA_EXCEEDED", after: 2_000)),
        .init(
            "429 without: a minute", 429, fcm(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"),
            .slowDown(reason: "QUOTA_EXCEEDED", after: nil, advised: 60_000)),
        .init(
            "500 INTERNAL", 500, fcm(500, "INTERNAL", "INTERNAL"),
            .retry(reason: "INTERNAL", counts: true, after: nil)),
        .init(
            "503 UNAVAILABLE with Retry-After", 503, fcm(503, "UNAVAILABLE", "UNAVAILABLE"), ["retry-after": "120"],
            .retry(reason: "UNAVAILABLE", counts: true, after: 120_000)),
        .init(
            "503 with a date", 503, fcm(503, "UNAVAILABLE", "UNAVAILABLE"),
            ["retry-after": "Sun, 06 Nov 1994 08:50:37 GMT"],
            .retry(reason: "UNAVAILABLE", counts: true, after: 60_000)),
        .init(
            "503 with a date, by the server's own clock", 503, fcm(503, "UNAVAILABLE", "UNAVAILABLE"),
            ["retry-after": "Sun, 06 Nov 1994 08:50:37 GMT", "date": "Sun, 06 Nov 1994 08:50:07 GMT"],
            .retry(reason: "UNAVAILABLE", counts: true, after: 30_000)),
        .init("502 with HTML", 502, html, .retry(reason: "http_502", counts: true, after: nil)),
        .init(
            "UNSPECIFIED_ERROR", 500, fcm(500, "INTERNAL", "UNSPECIFIED_ERROR"),
            .refused(reason: "UNSPECIFIED_ERROR")),
        .init("another 4xx", 413, "", .refused(reason: "http_413")),
        .init("407 and 302: what is between", 407, "", .retry(reason: "http_407", counts: true, after: nil)),
        .init("302", 302, html, .retry(reason: "http_302", counts: true, after: nil)),
    ]

    @Test("each row of the table", arguments: rows)
    func row(_ row: AnswerRow) {
        #expect(row.read(from: .fcm) == row.verdict)
    }

    @Test("no status and no body traps, and none but §11's rows deletes a device")
    func everything() {
        let bodies = [
            "", "{}", "[", html, "null", #"{"error":7}"#, #"{"error":{"status":7,"details":{}}}"#,
            #"{"error":{"details":[7,{"@type":1},{"@type":"x"}]}}"#, fcm(0, "NOT_FOUND"), #"{"reason":"Unregistered"}"#,
        ]
        for status in [0, 100] + Array(200...599) {
            for body in bodies {
                for platform in Platform.allCases {
                    let found = AnswerRow("", status, body, .accepted(providerID: nil)).read(from: platform)
                    guard case .deadDevice = found else { continue }
                    #expect(platform == .apns && status == 410 && body.contains("Unregistered"))
                }
            }
        }
    }

    @Test("a code is shortened, and without characters that a code cannot have")
    func codes() {
        let long = String(repeating: "X", count: 100)
        let found = AnswerRow("", 400, fcm(400, "a b\\n" + long), .accepted(providerID: nil)).read(from: .fcm)
        #expect(found == .refused(reason: "a?b?" + long.prefix(60)))
    }
}

@Suite("§11.2 APNs's answers")
struct APNsAnswerTests {
    private static func refused(_ status: Int, _ reasons: [String]) -> [AnswerRow] {
        reasons.map { .init("\(status) \($0)", status, #"{"reason":"\#($0)"}"#, .refused(reason: $0)) }
    }

    private static func paused(_ reasons: [String]) -> [AnswerRow] {
        reasons.map { .init("403 \($0)", 403, #"{"reason":"\#($0)"}"#, .pauseCredential(reason: $0)) }
    }

    static let rows: [AnswerRow] =
        [
            .init("200", 200, "", ["apns-id": "id-1"], .accepted(providerID: "id-1")),
            .init(
                "400 IdleTimeout", 400, #"{"reason":"IdleTimeout"}"#,
                .retry(reason: "IdleTimeout", counts: true, after: nil)),
            .init(
                "403 ExpiredProviderToken", 403, #"{"reason":"ExpiredProviderToken"}"#,
                .refreshCredential(reason: "ExpiredProviderToken")),
            .init(
                "403 UnrelatedKeyIdInToken", 403, #"{"reason":"UnrelatedKeyIdInToken"}"#,
                .retry(reason: "UnrelatedKeyIdInToken", counts: true, after: nil)),
            .init(
                "410 Unregistered", 410, #"{"reason":"Unregistered","timestamp":1700000000123}"#,
                .deadDevice(reason: "Unregistered", .at(1_700_000_000_123))),
            .init(
                "410 ExpiredToken", 410, #"{"reason":"ExpiredToken","timestamp":1}"#,
                .deadDevice(reason: "ExpiredToken", .at(1))),
            .init("410 without a time", 410, #"{"reason":"Unregistered"}"#, .deadDevice(reason: "Unregistered", .now)),
            .init("410 with another reason", 410, #"{"reason":"Gone"}"#, .refused(reason: "Gone")),
            .init(
                "429 TooManyRequests", 429, #"{"reason":"TooManyRequests"}"#, ["retry-after": "5"],
                .retry(reason: "TooManyRequests", counts: true, after: 5_000)),
            .init(
                "429 TooManyProviderTokenUpdates keeps the token", 429, #"{"reason":"TooManyProviderTokenUpdates"}"#,
                .retry(reason: "TooManyProviderTokenUpdates", counts: true, after: nil)),
            .init(
                "500 InternalServerError: 15 minutes", 500, #"{"reason":"InternalServerError"}"#,
                .retry(reason: "InternalServerError", counts: true, after: nil, advised: 900_000)),
            .init(
                "503 ServiceUnavailable: 15 minutes, or longer if it says so", 503, #"{"reason":"ServiceUnavailable"}"#,
                ["retry-after": "1800"],
                .retry(reason: "ServiceUnavailable", counts: true, after: 1_800_000, advised: 900_000)),
            .init(
                "503 Shutdown", 503, #"{"reason":"Shutdown"}"#,
                .retry(reason: "Shutdown", counts: true, after: nil, advised: 900_000)
            ),
            .init("502 with HTML", 502, html, .retry(reason: "http_502", counts: true, after: nil, advised: 900_000)),
        ]
        + refused(
            400,
            [
                "BadDeviceToken", "DeviceTokenNotForTopic", "TopicDisallowed", "BadTopic", "MissingTopic",
                "BadCollapseId", "BadExpirationDate", "BadMessageId", "BadPriority", "InvalidPushType",
                "DuplicateHeaders", "PayloadEmpty", "MissingDeviceToken",
            ])
        + paused([
            "InvalidProviderToken", "MissingProviderToken", "Forbidden", "BadCertificate", "BadCertificateEnvironment",
            "BadEnvironmentKeyIdInToken",
        ]) + refused(404, ["BadPath"]) + refused(405, ["MethodNotAllowed"]) + refused(413, ["PayloadTooLarge"])

    @Test("each row of the table", arguments: rows)
    func row(_ row: AnswerRow) {
        #expect(row.read(from: .apns) == row.verdict)
    }

    @Test(
        "the name of a message is visible ASCII, at most 256 characters: another one is not written into an outcome",
        arguments: ["", "a b", "a\u{1}", "\u{FFFD}", "é", String(repeating: "x", count: 257)])
    func foreignName(_ name: String) {
        let found = AnswerRow("", 200, "", ["apns-id": name], .accepted(providerID: nil)).read(from: .apns)
        #expect(found == .accepted(providerID: nil))
        let long = String(repeating: "x", count: 256)
        let longest = AnswerRow("", 200, "", ["apns-id": long], .accepted(providerID: nil)).read(from: .apns)
        #expect(longest == .accepted(providerID: long))
    }

    @Test("no answer is tried again, and counts only if the request may have arrived")
    func noAnswer() {
        for mayHaveArrived in [true, false] {
            #expect(
                AttemptFailure.noAnswer(mayHaveArrived: mayHaveArrived).verdict
                    == .retry(reason: "no_answer", counts: mayHaveArrived, after: nil))
        }
        #expect(AnswerKind(status: 429) == .throttled && AnswerKind(status: 500) == .failed)
        #expect(AnswerKind(status: 499) == .answered && AnswerKind(status: 200) == .answered)
    }
}

@Suite("Retry-After")
struct RetryAfterTests {
    @Test("seconds, and a date in each of HTTP's three forms")
    func forms() {
        #expect(RetryAfter("120")?.wait(now: 5) == 120_000 && RetryAfter("0")?.wait(now: 5) == 0)
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        ] {
            #expect(RetryAfter(text)?.wait(now: noon - 90_000) == 90_000, "\(text)")
            #expect(RetryAfter(text)?.wait(now: noon + 1) == 0)
        }
        #expect(HTTPDate.time("Monday, 01-Jan-24 00:00:00 GMT") == 1_704_067_200_000)
    }

    @Test("the wait is from 0 to a day, for the first and the last date and any clock")
    func extremes() {
        for date in ["Mon, 01 Jan 0001 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:60 GMT"] {
            for now in [WallTime.distantPast, -1, 0, noon, .distantFuture] {
                let wait = RetryAfter(date)?.wait(now: now)
                #expect(wait == 0 || wait == RetryAfter.longest)
            }
        }
    }

    @Test("a day is the longest")
    func longest() {
        for text in ["86401", "99999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"] {
            #expect(RetryAfter(text)?.wait(now: noon) == 86_400_000)
        }
    }

    @Test(
        "another text is none",
        arguments: [
            "", " ", "-1", "+1", "1.5", "1 2", "soon", "٣", "Sun, 06 Nov 1994 08:49:37",
            "Sun, 31 Feb 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 6 Nov 94 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 NOV 1994 08:49:37 GMT", "1994-11-06T08:49:37Z",
        ])
    func none(_ text: String) {
        #expect(RetryAfter(text) == nil)
    }
}
