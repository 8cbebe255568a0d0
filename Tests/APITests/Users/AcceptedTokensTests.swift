import TestSupport
import Testing

@testable import API

@Suite("API: tokens that were accepted") struct AcceptedTokensTests {
    private func hash(_ number: Int) -> AcceptedTokens.Hash { AcceptedTokens.Hash(Array("\(number)".utf8)) }

    @Test("beyond the limit the one that was first used the longest ago leaves; a use again changes nothing")
    func eviction() {
        var tokens = AcceptedTokens(most: 3)
        for number in [0, 1, 2, 0, 0] { tokens.insert(hash(number)) }
        #expect((0..<3).allSatisfy { tokens.contains(hash($0)) })
        for number in 3..<50 {
            tokens.insert(hash(number))
            for known in 0...number {
                #expect(tokens.contains(hash(known)) == (known > number - 3), "\(known), \(number)")
            }
        }
    }

    @Test("what is remembered is what a list of the last ones has, by seed")
    func model() throws {
        var random = SeededGenerator(seed: try RunSeed.value())
        var (tokens, model) = (AcceptedTokens(most: 8), [Int]())
        for _ in 0..<5_000 {
            let number = Int.random(in: 0..<20, using: &random)
            #expect(tokens.contains(hash(number)) == model.contains(number))
            tokens.insert(hash(number))
            if !model.contains(number) { model = (model + [number]).suffix(8) }
        }
    }

    @Test(
        "what is remembered takes 8 MiB at most, however many tokens come: 2^17 places of a set, and fewer of an order"
    )
    func memory() {
        var tokens = AcceptedTokens(most: TokenVerifier.mostRemembered)
        for number in 0..<TokenVerifier.mostRemembered + 100 { tokens.insert(hash(number)) }
        #expect(MemoryLayout<AcceptedTokens.Hash>.stride == 32)
        // A set has places for a third more than its capacity.
        #expect(tokens.known.capacity * 4 / 3 == 1 << 17 && tokens.order.capacity < 1 << 17)
        #expect(!tokens.contains(hash(99)) && tokens.contains(hash(100)))
    }
}
