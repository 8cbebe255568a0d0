import Pipeline
import Testing

@Suite("The pace of sending")
struct PaceTests {
    private let began = ContinuousClock.now

    @Test("0 is no limit")
    func unlimited() {
        var rate = Pace(perSecond: 0, now: began)
        rate.take(1_000_000, now: began)
        #expect(rate.budget(now: began) == .max)
    }

    @Test("so many records a second, and at most those of a tenth of a second at once")
    func limited() {
        var rate = Pace(perSecond: 100, now: began)
        #expect(rate.budget(now: began + .seconds(10)) == 10)
        rate.take(10, now: began + .seconds(10))
        #expect(rate.budget(now: began + .seconds(10.0625)) == 6)
    }

    @Test("what was sent beyond it is waited for")
    func owed() {
        var rate = Pace(perSecond: 100, now: began)
        rate.take(60, now: began)
        #expect(rate.budget(now: began + .seconds(0.25)) < 0)
        #expect(rate.budget(now: began + .seconds(0.5625)) == 6)
    }

    @Test("the next transaction begins when the rate has made up for the one before, and a pause is not made up for")
    func transactions() {
        var pace = Pace(perSecond: 100, now: began)
        #expect(pace.take(100, now: began) == began + .seconds(1))
        #expect(pace.take(50, now: began + .milliseconds(200)) == began + .milliseconds(1_500))
        #expect(pace.take(10, now: began + .seconds(9)) == began + .milliseconds(9_100))
    }
}
