import Digests
import Testing

@testable import ProviderStandIn

/// push-rules §2.1–§2.5; the forms are those of Apple's answers.
@Suite("APNs's stand-in") struct APNSStandInTests {
    private let apns: APNSStandIn
    private let seen = Observed()
    private static let device = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
    private static let id = "123e4567-e89b-12d3-a456-42665544000a"
    private static let payload = #"{"aps":{"alert":"x"}}"#

    init() throws {
        apns = try APNSStandIn()
        apns.observe(seen.add)
    }

    private func token(
        _ key: StandInKey? = nil, keyID: String = APNSStandIn.keyID, team: String = APNSStandIn.teamID, age: Int64 = 0
    ) -> String {
        (key ?? apns.key).jwt(
            header: #"{"alg":"ES256","kid":"\#(keyID)"}"#,
            claims: #"{"iss":"\#(team)","iat":\#(UnixTime.now - age)}"#)
    }

    private func headers(_ changes: [String: String?] = [:], token: String? = nil) -> [(name: String, value: String)] {
        var headers: [String: String?] = [
            "authorization": "bearer \(token ?? self.token())", "apns-topic": "com.example.app",
            "apns-push-type": "alert", "apns-id": Self.id, "apns-priority": "10", "apns-expiration": "0",
            "apns-collapse-id": "c",
        ]
        headers.merge(changes) { $1 }
        return headers.compactMap { name, value in value.map { (name, $0) } }
    }

    private func send(
        _ changes: [String: String?] = [:], token: String? = nil, path: String = "/3/device/\(device)",
        body: String = payload
    ) -> StandInAnswer {
        apns.answer(.post(path, headers(changes, token: token), body))
    }

    @Test("a notification that is accepted is answered 200 with its apns-id and no body, and is recorded")
    func accepted() throws {
        let answer = send()
        #expect(answer.status == 200)
        #expect(answer.text == "")
        #expect(answer[header: "apns-id"] == Self.id)
        let record = try #require(seen.first)
        #expect(record.tokenHash == SHA256.hex(of: Self.device))
        #expect(record.id == Self.id && record.collapseID == "c" && record.lifetime == "0")
        #expect(send(["apns-id": nil])[header: "apns-id"]?.utf8.count == 36)
    }

    @Test("provider tokens: missing, by another key, of another team or key id, expired")
    func providerTokens() throws {
        #expect(send(["authorization": nil]).text == #"{"reason":"MissingProviderToken"}"#)
        let bad = [
            token(try StandInKey(.p256)), token(keyID: "OTHER"), token(team: "OTHER"), token(age: -600), "x", "a.b.c",
        ]
        for token in bad {
            let answer = send(token: token)
            #expect(answer.status == 403)
            #expect(answer.text == #"{"reason":"InvalidProviderToken"}"#)
        }
        #expect(send(token: token(age: 3_601)).text == #"{"reason":"ExpiredProviderToken"}"#)
        let good = token()
        #expect(send(token: good).status == 200)
        apns.ageTokens(by: 3_700)
        #expect(send(token: good).text == #"{"reason":"ExpiredProviderToken"}"#)
    }

    @Test(
        "each header has its rule",
        arguments: [
            ("apns-topic", "", "MissingTopic"), ("apns-topic", "a b", "BadTopic"), ("apns-id", "x", "BadMessageId"),
            ("apns-expiration", "soon", "BadExpirationDate"), ("apns-expiration", "-1", "BadExpirationDate"),
            ("apns-priority", "7", "BadPriority"), ("apns-push-type", "x", "InvalidPushType"),
            ("apns-push-type", "", "InvalidPushType"), ("apns-push-type", "background", "BadPriority"),
            ("apns-collapse-id", String(repeating: "c", count: 65), "BadCollapseId"),
        ])
    func headerRules(name: String, value: String, reason: String) {
        // Empty is left out.
        let answer = send([name: value.isEmpty ? nil : value])
        #expect(answer.status == 400)
        #expect(answer.text == #"{"reason":"\#(reason)"}"#)
    }

    @Test("paths, methods, payloads and devices have their rules")
    func otherRules() {
        #expect(send(path: "/4/device/x").text == #"{"reason":"BadPath"}"#)
        #expect(send(path: "/3/device/").text == #"{"reason":"MissingDeviceToken"}"#)
        #expect(send(path: "/3/device/xyz").text == #"{"reason":"BadDeviceToken"}"#)
        #expect(send(body: "").text == #"{"reason":"PayloadEmpty"}"#)
        #expect(send(body: "{}").text == #"{"reason":"PayloadEmpty"}"#)
        let long = send(body: #"{"aps":{},"x":"\#(String(repeating: "x", count: 4_096))"}"#)
        #expect(long.status == 413 && long.text == #"{"reason":"PayloadTooLarge"}"#)
        let twice = headers() + [("apns-topic", "x")]
        #expect(
            apns.answer(.post("/3/device/\(Self.device)", twice, Self.payload)).text
                == #"{"reason":"DuplicateHeaders"}"#)
        var get = StandInRequest.post("/3/device/\(Self.device)", headers(), "")
        get.method = "GET"
        #expect(apns.answer(get).status == 405)
    }

    @Test(
        "each fault has the status and the body of push-rules §2.5",
        arguments: [
            (
                StandInFault.unregistered(at: 1_700_000_000_000), 410,
                #"{"reason":"Unregistered","timestamp":1700000000000}"#
            ),
            (.invalidToken, 400, #"{"reason":"BadDeviceToken"}"#),
            (.mismatch, 400, #"{"reason":"DeviceTokenNotForTopic"}"#),
            (.quota(nil), 429, #"{"reason":"TooManyRequests"}"#),
            (.unavailable(.seconds(2)), 503, #"{"reason":"ServiceUnavailable"}"#),
            (.internalError, 500, #"{"reason":"InternalServerError"}"#),
            (.other(status: 403, reason: "UnrelatedKeyIdInToken"), 403, #"{"reason":"UnrelatedKeyIdInToken"}"#),
        ])
    func faults(fault: StandInFault, status: Int, body: String) {
        apns.set(fault, for: Self.device, times: 1)
        let answer = send()
        #expect(answer.status == status)
        #expect(answer.text == body)
        #expect(answer[header: "apns-id"] == Self.id)
        #expect(send().status == 200)
    }
}
