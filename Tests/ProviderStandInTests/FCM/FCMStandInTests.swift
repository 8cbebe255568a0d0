import Digests
import Testing

@testable import ProviderStandIn

/// push-rules §1.1–§1.4; the forms are those of Google's answers.
@Suite("FCM's stand-in") struct FCMStandInTests {
    private let fcm: FCMStandIn
    private let seen = Observed()
    private static let message =
        #"{"message":{"token":"t","data":{"default":"{}"},"android":{"ttl":"60s","collapse_key":"c"}}}"#

    init() throws {
        fcm = try FCMStandIn()
        fcm.observe(seen.add)
    }

    private func assertion(
        _ key: StandInKey? = nil, iss: String = FCMStandIn.clientEmail, aud: String = "https://127.0.0.1/token",
        life: Int64 = 3_600, scope: String = "https://www.googleapis.com/auth/firebase.messaging"
    ) -> String {
        let now = UnixTime.now
        return (key ?? fcm.key).jwt(
            header: #"{"alg":"RS256","typ":"JWT"}"#,
            claims:
                #"{"iss":"\#(iss)","scope":"\#(scope)","aud":"\#(aud)","iat":\#(now),"exp":\#(now + life)}"#)
    }

    private func grant(_ assertion: String) -> StandInAnswer {
        let type = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
        return fcm.answer(.post("/token", [], "grant_type=\(type)&assertion=\(assertion)"))
    }

    private func accessToken() throws -> String {
        let text = grant(assertion()).text
        return try #require(text.split(separator: "\"").first { $0.hasPrefix("ya29.") }.map(String.init))
    }

    private func send(_ body: String = message, project: String = FCMStandIn.projectID) throws -> StandInAnswer {
        let token = try accessToken()
        return fcm.answer(.post("/v1/projects/\(project)/messages:send", [("authorization", "Bearer \(token)")], body))
    }

    @Test("an assertion that is signed by the account's key gets an access token")
    func granted() {
        let answer = grant(assertion())
        #expect(answer.status == 200)
        #expect(answer.text.hasSuffix(#"","expires_in":3599,"token_type":"Bearer"}"#))
        #expect(fcm.grants == 1)
    }

    @Test("an assertion by another key, for another issuer, audience or scope, or for too long, is refused")
    func denied() throws {
        let other = try StandInKey(.rsa2048)
        let cases: [(String, String)] = [
            (assertion(other), #"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#),
            (assertion(iss: "x"), #"{"error":"invalid_grant","error_description":"Invalid issuer"}"#),
            (assertion(aud: "https://x/"), #"{"error":"invalid_grant","error_description":"Invalid audience"}"#),
            (assertion(scope: "x"), #"{"error":"invalid_scope"}"#),
            ("x.y", #"{"error":"invalid_grant","error_description":"Invalid JWT: not JSON"}"#),
        ]
        for (assertion, body) in cases {
            let answer = grant(assertion)
            #expect(answer.status == 400)
            #expect(answer.text == body)
        }
        #expect(grant(assertion(life: 3_601)).text.contains("short-lived token"))
        #expect(grant(assertion(life: -1)).text.contains("short-lived token"))
        #expect(fcm.grants == 0)
    }

    @Test("a message that is accepted is answered with its name, and recorded by the hash of its token")
    func accepted() throws {
        let answer = try send()
        #expect(answer.status == 200)
        #expect(answer.text == #"{"name":"projects/test-project/messages/0000000000000001"}"#)
        let record = try #require(seen.first)
        #expect(record.tokenHash == SHA256.hex(of: "t"))
        #expect(record.id == "projects/test-project/messages/0000000000000001")
        #expect(record.collapseID == "c")
        #expect(record.lifetime == "60s")
        #expect(seen.all.count == 1 && record.reason == nil)
    }

    @Test("validate_only accepts nothing")
    func validateOnly() throws {
        let answer = try send(#"{"validate_only":true,"message":{"token":"t"}}"#)
        #expect(answer.text == #"{"name":"projects/test-project/messages/fake_message_id"}"#)
        #expect(seen.all.isEmpty)
    }

    @Test("without a valid access token: 401 and no FcmError; a wrong project: 404 and no FcmError")
    func credentials() throws {
        let path = "/v1/projects/test-project/messages:send"
        let unauthenticated =
            #"{"error":{"code":401,"message":"Request had invalid authentication credentials. Expected OAuth 2 access token.","status":"UNAUTHENTICATED"}}"#
        #expect(fcm.answer(.post(path, [], Self.message)).text == unauthenticated)
        #expect(fcm.answer(.post(path, [("authorization", "Bearer x")], Self.message)).text == unauthenticated)
        let token = try accessToken()
        fcm.revokeTokens()
        #expect(fcm.answer(.post(path, [("authorization", "Bearer \(token)")], Self.message)).status == 401)
        fcm.setTokenLife(0)
        let ended = try accessToken()
        #expect(fcm.answer(.post(path, [("authorization", "Bearer \(ended)")], Self.message)).status == 401)
        fcm.setTokenLife(100)
        #expect(
            try send(project: "other").text
                == #"{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND"}}"#)
    }

    private static let fcmError =
        #""details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"#

    @Test(
        "each fault has the status and the body of push-rules §1.4",
        arguments: [
            (StandInFault.unregistered(), 404, "Requested entity was not found.", "NOT_FOUND", "UNREGISTERED"),
            (.mismatch, 403, "SenderId mismatch", "PERMISSION_DENIED", "SENDER_ID_MISMATCH"),
            (
                .thirdPartyAuth, 401, "Auth error from APNS or Web Push Service", "UNAUTHENTICATED",
                "THIRD_PARTY_AUTH_ERROR"
            ),
            (.quota(nil), 429, "Quota exceeded for quota metric", "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"),
            (.unavailable(nil), 503, "The service is currently unavailable.", "UNAVAILABLE", "UNAVAILABLE"),
            (.internalError, 500, "Internal error encountered.", "INTERNAL", "INTERNAL"),
        ])
    func faults(fault: StandInFault, status: Int, message: String, name: String, code: String) throws {
        fcm.set(fault, for: "t", times: 1)
        let answer = try send()
        #expect(answer.status == status)
        #expect(
            answer.text
                == #"{"error":{"code":\#(status),"message":"\#(message)","status":"\#(name)",\#(Self.fcmError)"\#(code)"}]}}"#
        )
        #expect(seen.all.map(\.record.reason) == [code])
        #expect(try send().status == 200)
    }

    @Test("an invalid token has a field violation on message.token")
    func invalidToken() throws {
        fcm.set(.invalidToken, for: "t")
        #expect(
            try send().text
                == #"{"error":{"code":400,"message":"The registration token is not a valid FCM registration token","status":"INVALID_ARGUMENT",\#(Self.fcmError)"INVALID_ARGUMENT"},{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.token","description":"Invalid registration token"}]}]}}"#
        )
    }

    @Test("Retry-After comes in both forms")
    func retryAfter() throws {
        fcm.set(.quota(.seconds(7)), for: "t", times: 1)
        #expect(try send()[header: "retry-after"] == "7")
        fcm.set(.unavailable(.date(secondsFromNow: 60)), for: "t", times: 1)
        let date = try #require(try send()[header: "retry-after"])
        #expect(date.hasSuffix(" GMT") && date.utf8.count == 29)
        #expect(HTTPDate.text(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test("a 502 is a page of HTML; slow, hanging and reset answers are answers that come later or never")
    func courses() throws {
        fcm.set(.htmlError, for: "t", times: 1)
        let answer = try send()
        #expect(answer.status == 502 && answer[header: "content-type"] == "text/html")
        fcm.set(.hang, for: "t", times: 1)
        #expect("\(try send().course)" == "\(StandInAnswer.Course.never)")
        fcm.set(.slow(.seconds(3)), for: "t", times: 1)
        #expect("\(try send().course)" == "\(StandInAnswer.Course.after(.seconds(3)))")
        #expect(seen.accepted == 2)
        fcm.set(.reset, for: "t", times: 1)
        #expect("\(try send().course)" == "\(StandInAnswer.Course.resetConnection)")
        #expect(seen.all.last?.fault == .reset)
    }

    @Test(
        "a message that is not FCM's is 400 INVALID_ARGUMENT and names the field",
        arguments: [
            (#"{"message":{"token":"t","data":{"n":1}}}"#, "message.data[0].value"),
            (#"{"message":{"token":"t","topic":"x"}}"#, "message"),
            (#"{"message":{"token":"t","unknown":1}}"#, "message"),
            (#"{"message":{"token":"t","data":{"from":"x"}}}"#, "message.data"),
            (#"{"message":{"token":"t","android":{"ttl":"1"}}}"#, "message.android.ttl"),
            (#"{"message":{"token":"t","android":{"ttl":"2419201s"}}}"#, "message.android.ttl"),
            (#"{"message":{"token":"t","android":{"priority":"urgent"}}}"#, "message.android.priority"),
            (#"{"message":{"token":7}}"#, "message.token"),
            (#"{"message":{"data":{}}}"#, "message"),
            (#"{"other":1}"#, ""),
            (#"{"message":{"token":"t","data":{"d":"\#(String(repeating: "x", count: 4_096))"}}}"#, "message"),
        ])
    func badMessages(body: String, field: String) throws {
        let answer = try send(body)
        #expect(answer.status == 400)
        #expect(answer.text.contains(#"{"field":"\#(field)","#), "\(answer.text)")
        #expect(answer.text.contains(#""errorCode":"INVALID_ARGUMENT""#))
    }

    @Test("what is not JSON is refused")
    func notJSON() throws {
        #expect(try send("{").text.contains("Invalid JSON payload received."))
    }
}
