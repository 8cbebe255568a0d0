import Testing

@testable import Hosting

@Suite("A clock that nobody sets")
struct ClockTests {
    @Test("a wall clock that is set is noticed after a minute's difference, and ends the process after 10 minutes")
    func clockWatch() {
        var watch = ClockWatch()
        let start = ContinuousClock.now
        #expect(watch.look(drift: .seconds(-60), now: start) == .good)
        #expect(watch.look(drift: .seconds(-61), now: start) == .isOff(.seconds(-61)))
        #expect(watch.look(drift: .seconds(3_600), now: start + .seconds(599)) == .isOff(.seconds(3_600)))
        #expect(watch.look(drift: .seconds(3_600), now: start + .seconds(600)) == .staysOff(.seconds(3_600)))
        #expect(watch.look(drift: .zero, now: start + .seconds(601)) == .good)
        #expect(watch.look(drift: .seconds(90), now: start + .seconds(602)) == .isOff(.seconds(90)))
        let clock = PipelineClock(wall: 5_000, began: start)
        #expect(clock.now(start + .milliseconds(1_250)) == 6_250)
    }
}
