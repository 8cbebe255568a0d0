import Digests
import TestSupport
import Testing

@testable import API

@Suite("API: tokens that are changed") struct TokenMutationTests {
    private static let digits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/{ \u{0}".utf8)

    @Test(
        "with any byte changed, left out or added it is refused, by seed, with each algorithm",
        arguments: VerifyingKey.Algorithm.allCases)
    func mutations(algorithm: VerifyingKey.Algorithm) throws {
        var random = SeededGenerator(seed: try RunSeed.value())
        let shop = try Shop.shared()
        let verifier = try shop.verifier()
        let token = try shop.token(algorithm, claims: ["audiences": #"["place/42"]"#])
        #expect(verifier.refusal(token) == nil)
        for index in token.indices {
            let digit = Self.digits.filter { $0 != token[index] }.randomElement(using: &random) ?? 0
            var changed = token
            changed[index] = digit
            let longer = token[..<index] + [digit] + token[index...]
            var flipped = token
            flipped[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            for wrong in [changed, flipped, Array(longer), Array(token[..<index] + token[(index + 1)...])] {
                #expect(verifier.refusal(wrong) != nil, "byte \(index)")
            }
        }
        #expect(verifier.refusal(token) == nil)
    }
}
