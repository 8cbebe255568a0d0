import Notifications
import TestSupport
import Testing

@testable import Sender

@Suite("The token that a credential sends with")
struct ProviderTokenTests {
    @Test("its age counts from its first request, and from zero with the next token; a clock that goes back gives zero")
    func age() throws {
        let key = try ProviderKey(pem: TestKeys.p256, keyID: "KEYID123AB", teamID: "TEAMID123A", file: "key.p8")
        var token = ProviderToken(.providerKey(key))
        #expect(token.age(now: 5_000) == nil)
        let first = try token.token(for: 1, now: 1_000)
        #expect(try token.token(for: 2, now: 31_000) == first)
        #expect(token.age(now: 61_000) == .seconds(60) && token.age(now: 0) == .zero)
        let replacedAt = WallTime(milliseconds: 1_000) + ProviderKey.age
        #expect(try token.token(for: 3, now: replacedAt) != first)
        #expect(token.age(now: replacedAt) == .zero && token.age(now: replacedAt + 1_000) == .seconds(1))
    }

    @Test("the token of a file is as old as its first request, and has no age before it")
    func file() throws {
        let made = try #require(BearerToken("made-up".utf8))
        var file = ProviderToken(.token(made, projectID: "shop"))
        #expect(file.age(now: 1) == nil)
        _ = try file.token(for: 1, now: 1)
        #expect(file.age(now: 3_600_001) == .seconds(3_600))
    }
}
