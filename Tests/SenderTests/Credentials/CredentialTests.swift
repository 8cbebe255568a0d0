import Digests
import JSONReader
import Notifications
import TestSupport
import Testing

@testable import Sender

@Suite("Credentials of FCM")
struct ServiceAccountTests {
    private func problem(_ json: [UInt8]) -> String? {
        do {
            _ = try ServiceAccount(json: json, file: "shop.json")
            return nil
        } catch {
            return error.description
        }
    }

    @Test("§8: the assertion is RS256 with Google's claims, and the form has its grant type")
    func assertion() throws {
        let account = try ServiceAccount(json: TestCredentials.serviceAccount(), file: "shop.json")
        #expect(account.projectID == "shop" && account.tokenURL == "https://oauth2.googleapis.com/token")
        let token = try account.assertion(now: 1_751_875_337_999)
        #expect(String(decoding: token, as: UTF8.self) == TestKeys.foreignToken)
        let form = try String(decoding: account.tokenRequest(now: 1_751_875_337_000), as: UTF8.self)
        #expect(
            form == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
                + TestKeys.foreignToken)
    }

    @Test("a file that is no service account: the file, the member and what is allowed, and nothing of the key")
    func errors() {
        #expect(problem(TestCredentials.serviceAccount()) == nil)
        #expect(problem([]) == "shop.json: it is not JSON; allowed is the key file of a Google service account")
        #expect(
            problem(TestCredentials.serviceAccount(["type": "authorized_user"]))
                == #"shop.json: type has another value; allowed is "service_account""#)
        for name in ["type", "project_id", "private_key_id", "private_key", "client_email", "token_uri"] {
            #expect(
                problem(TestCredentials.serviceAccount([name: nil]))?.hasPrefix(
                    "shop.json: \(name) is missing; allowed is ") == true)
        }
        #expect(
            problem(TestCredentials.serviceAccount(["token_uri": "http://example.com/"]))
                == "shop.json: token_uri has another value; allowed is a URL that begins with https://")
        // What would break out of the assertion's JSON.
        for name in ["project_id", "private_key_id", "client_email"] {
            #expect(
                problem(TestCredentials.serviceAccount([name: "a\\\",\\\"b"]))?.contains("\(name) has another value")
                    == true)
        }
        let other = String(decoding: TestKeys.p256, as: UTF8.self).replacing("\n", with: "\\n")
        #expect(
            problem(TestCredentials.serviceAccount(["private_key": other]))
                == "shop.json: private_key is another kind of key; allowed is an RSA key of at least 2,048 bits")
        let broken = problem(TestCredentials.serviceAccount(["private_key": "SECRET-1"]))
        #expect(
            broken?.contains("private_key is not a private key in PEM") == true && broken?.contains("SECRET") == false)
    }

    private func answer(_ status: Int, _ body: String) -> AccessTokenAnswer {
        Array(body.utf8).withUnsafeBytes { AccessTokenAnswer(status: status, body: $0) }
    }

    @Test("the token endpoint's answers: a token, a refusal, or something to try again")
    func answers() throws {
        let token = try #require(BearerToken("made-up".utf8))
        #expect(
            answer(200, #"{"access_token":"made-up","expires_in":3599,"token_type":"Bearer"}"#)
                == .token(token, life: 3_599_000))
        for body in [
            "", "{}", #"{"access_token":"made-up"}"#, #"{"access_token":"a b","expires_in":1}"#,
            #"{"access_token":"","expires_in":1}"#, #"{"access_token":"a","expires_in":0}"#,
            #"{"access_token":"a","expires_in":1e9}"#,
        ] {
            #expect(answer(200, body) == .failed(reason: "unreadable_token"))
        }
        #expect(answer(400, #"{"error":"invalid_grant","error_description":"x"}"#) == .refused(reason: "invalid_grant"))
        #expect(answer(401, "") == .refused(reason: "http_401"))
        #expect(answer(503, "<html>") == .failed(reason: "http_503"))
        #expect(answer(429, "") == .failed(reason: "http_429"))
    }

    @Test("§8: single flight; refreshed after 80 % of its life, and used to its end meanwhile")
    func refreshing() throws {
        let (first, second) = (try #require(BearerToken("one".utf8)), try #require(BearerToken("two".utf8)))
        var token = AccessToken()
        #expect(token.current(now: 0) == nil && token.begin(now: 0) && !token.begin(now: 1))
        #expect(token.complete(.token(first, life: 1_000_000), now: 10) == nil)
        #expect(token.current(now: 10) == first && !token.begin(now: 800_009))
        #expect(token.begin(now: 800_010) && !token.begin(now: 800_011) && token.current(now: 800_011) == first)
        // A refusal while the old one lives does not pause.
        #expect(token.complete(.refused(reason: "invalid_grant"), now: 800_020) == nil)
        #expect(!token.begin(now: 801_019) && token.begin(now: 801_020))
        #expect(token.complete(.failed(reason: "http_503"), now: 801_020) == nil)
        #expect(!token.begin(now: 803_019) && token.begin(now: 803_020))
        #expect(token.current(now: 1_000_009) == first && token.current(now: 1_000_010) == nil)
        #expect(token.complete(.refused(reason: "invalid_grant"), now: 1_000_010) == "invalid_grant")
        #expect(token.begin(now: 1_100_000) == true)
        #expect(token.complete(.token(second, life: 1_000), now: 1_100_000) == nil)
        #expect(token.current(now: 1_100_000) == second)
    }

    @Test("a refused token is not used again, and one that is newer stays")
    func refusedToken() throws {
        let (first, second) = (try #require(BearerToken("one".utf8)), try #require(BearerToken("two".utf8)))
        var token = AccessToken()
        #expect(token.begin(now: 0) == true)
        _ = token.complete(.token(first, life: 1_000_000), now: 0)
        token.refuse(first)
        #expect(token.current(now: 1) == nil && token.begin(now: 1))
        _ = token.complete(.token(second, life: 1_000_000), now: 2)
        token.refuse(first)
        #expect(token.current(now: 3) == second && !token.begin(now: 3))
    }

    @Test("after failures it is asked again after 1, 2, 4, … and at most 60 seconds")
    func backoff() {
        var token = AccessToken()
        var now: WallTime = 0
        for wait in [1, 2, 4, 8, 16, 32, 60, 60] as [Int64] {
            #expect(token.begin(now: now) == true)
            _ = token.complete(.failed(reason: "http_500"), now: now)
            #expect(token.begin(now: now + wait * 1_000 - 1) == false)
            now += wait * 1_000
        }
    }

    @Test("a token file has one token, and its errors name the file and not the token")
    func tokenFile() throws {
        #expect(try TokenFile.token(Array("\n made-up \r\n".utf8), file: "t") == BearerToken("made-up".utf8))
        #expect(throws: CredentialError(file: "t", "it is empty; allowed is an access token")) {
            try TokenFile.token(Array(" \n".utf8), file: "t")
        }
        for text in ["one two", "one\ntwo", "é", String(repeating: "x", count: 8_193)] {
            do {
                _ = try TokenFile.token(Array(text.utf8), file: "t")
                Issue.record("\(text.prefix(9)) was read")
            } catch {
                #expect(
                    error.description.hasPrefix("t: it has more than a token") && !error.description.contains("two"))
            }
        }
    }

    @Test("a token is not shown by any description")
    func redacted() throws {
        let token = try #require(BearerToken("made-up".utf8))
        var dumped = ""
        dump(AccessTokenAnswer.token(token, life: 1), to: &dumped)
        for text in ["\(token)", String(reflecting: token), "\(AccessTokenAnswer.token(token, life: 1))", dumped] {
            #expect(!text.contains("made-up") && text.contains("redacted"))
        }
        #expect(token.header("Bearer") == "Bearer made-up")
    }
}

@Suite("Credentials of APNs")
struct ProviderKeyTests {
    private func make(
        _ pem: [UInt8] = TestKeys.p256, keyID: String = "KEYID123AB", teamID: String = "TEAMID123A"
    ) throws(CredentialError) -> ProviderKey {
        try ProviderKey(pem: pem, keyID: keyID, teamID: teamID, file: "AuthKey.p8")
    }

    private func part(_ token: BearerToken, _ index: Int) -> String {
        let parts = token.header("bearer").dropFirst(7).split(separator: ".")
        return String(decoding: Base64URL.decode(parts[index].utf8) ?? [], as: UTF8.self)
    }

    @Test("§2.4: ES256 with key id, team and time; the signature has 64 bytes")
    func token() throws {
        var key = try make()
        let token = try key.current(now: 1_751_875_337_999)
        #expect(part(token, 0) == #"{"alg":"ES256","kid":"KEYID123AB"}"#)
        #expect(part(token, 1) == #"{"iss":"TEAMID123A","iat":1751875337}"#)
        #expect(Base64URL.decode(token.header("bearer").split(separator: ".")[2].utf8)?.count == 64)
    }

    @Test("§2.4: a token is used for 45 minutes, less than an hour and more than twenty minutes")
    func age() throws {
        var key = try make()
        let first = try key.current(now: 0)
        #expect(try key.current(now: 2_699_999) == first)
        #expect(try key.current(now: 2_700_000) != first)
    }

    @Test("§2.4: a token that APNs calls expired is replaced only if it is twenty minutes old")
    func expired() throws {
        var key = try make()
        let first = try key.current(now: 0)
        #expect(key.refuse(first, now: 1_199_999) == false)
        #expect(try key.current(now: 1_199_999) == first)
        #expect(key.refuse(first, now: 1_200_000) == true)
        let second = try key.current(now: 1_200_000)
        // Answers to requests with the old one still come.
        #expect(second != first && key.refuse(first, now: 1_200_001))
        #expect(try key.current(now: 1_200_002) == second)
    }

    @Test("a file that is no P-256 key, and ids that are none: errors with the file and what is allowed")
    func errors() {
        func problem(_ body: () throws(CredentialError) -> ProviderKey) -> String? {
            do {
                _ = try body()
                return nil
            } catch {
                return error.description
            }
        }
        #expect(
            problem { () throws(CredentialError) in try make(TestKeys.rsa) }
                == "AuthKey.p8: the file is another kind of key; allowed is an elliptic curve key on P-256")
        #expect(
            problem { () throws(CredentialError) in try make([1, 2]) }?.hasPrefix(
                "AuthKey.p8: the file is not a private key in PEM without a password") == true)
        #expect(
            problem { () throws(CredentialError) in try make(keyID: "SHORT") }
                == "AuthKey.p8: the key id has 5 bytes; allowed are ten letters A to Z and digits")
        #expect(problem { () throws(CredentialError) in try make(teamID: "TEAMID\"23A") }?.contains("team id") == true)
    }
}
