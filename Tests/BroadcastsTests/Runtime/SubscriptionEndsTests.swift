import Testing

@testable import Broadcasts

@Suite("The ends of the subscriptions")
struct SubscriptionEndsTests {
    private let began = ContinuousClock.now

    private func isReached(_ ends: SubscriptionEnds, at position: Int64, after seconds: Double) -> Bool {
        ends.isReached(3, at: position, within: .seconds(1), now: began + .seconds(seconds))
    }

    @Test("nothing is reached before an answer, and nothing in a partition that no answer has")
    func none() {
        let ends = SubscriptionEnds()
        #expect(!isReached(ends, at: 100, after: 0))
        ends.answered([4: 5], askedAt: began)
        #expect(!isReached(ends, at: 100, after: 0))
    }

    @Test("an end counts for a second since it was asked for")
    func age() {
        let ends = SubscriptionEnds()
        ends.answered([3: 5], askedAt: began)
        #expect(isReached(ends, at: 5, after: 1))
        #expect(!isReached(ends, at: 4, after: 0.5))
        #expect(!isReached(ends, at: 5, after: 1.001))
    }

    @Test("of a partition that grows all the time an older answer may be reached")
    func older() {
        let ends = SubscriptionEnds()
        ends.answered([3: 5], askedAt: began)
        ends.answered([3: 9], askedAt: began + .seconds(0.2))
        #expect(isReached(ends, at: 6, after: 0.9))
        #expect(!isReached(ends, at: 6, after: 1.1))
        #expect(isReached(ends, at: 9, after: 1.1))
    }
}
