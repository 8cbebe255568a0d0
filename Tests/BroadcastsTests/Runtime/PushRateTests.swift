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

    @Test("so many records a second, and at most those of one second at once")
    func limited() {
        var rate = PushRate(perSecond: 100, now: began)
        #expect(rate.budget(now: began + .seconds(10)) == 100)
        rate.take(100)
        #expect(rate.budget(now: began + .seconds(10.25)) == 25)
    }

    @Test("what joiners took beyond it is waited for")
    func owed() {
        var rate = PushRate(perSecond: 100, now: began)
        rate.take(150)
        #expect(rate.budget(now: began + .seconds(0.25)) < 0)
        #expect(rate.budget(now: began + .seconds(1)) == 50)
    }
}
