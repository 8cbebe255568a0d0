import Testing

@testable import Broadcasts

@Suite("broadcasts.rate")
struct PushRateTests {
    private let began = ContinuousClock.now

    @Test("0 is no limit")
    func unlimited() {
        var rate = PushRate(perSecond: 0, now: began)
        rate.take(1_000_000)
        #expect(rate.budget(now: began) == .max)
    }

    @Test("so many records a second, and at most those of a tenth of a second at once")
    func limited() {
        var rate = PushRate(perSecond: 100, now: began)
        #expect(rate.budget(now: began + .seconds(10)) == 10)
        rate.take(10)
        #expect(rate.budget(now: began + .seconds(10.0625)) == 6)
    }

    @Test("what joiners took beyond it is waited for")
    func owed() {
        var rate = PushRate(perSecond: 100, now: began)
        rate.take(60)
        #expect(rate.budget(now: began + .seconds(0.25)) < 0)
        #expect(rate.budget(now: began + .seconds(0.5625)) == 6)
    }
}
