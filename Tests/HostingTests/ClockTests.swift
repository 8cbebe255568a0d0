import Telemetry
import TestSupport
import Testing

@testable import Hosting

@Suite("A clock that nobody sets")
struct ClockTests {
    @Test("a wall clock that is set is noticed from a minute's difference on, and settled once it has stayed for 10 s")
    func clockWatch() {
        var watch = ClockWatch()
        let start = ContinuousClock.now
        #expect(watch.look(drift: .seconds(-60), now: start) == .good)
        #expect(watch.look(drift: .seconds(-61), now: start) == .isOff(.seconds(-61)))
        #expect(watch.look(drift: .seconds(3_600), now: start + .seconds(9)) == .isOff(.seconds(3_600)))
        #expect(watch.look(drift: .seconds(3_599), now: start + .seconds(18.9)) == .isOff(.seconds(3_599)))
        #expect(watch.look(drift: .seconds(3_600), now: start + .seconds(19)) == .settled(.seconds(3_600)))
        #expect(watch.look(drift: .zero, now: start + .seconds(20)) == .good)
        #expect(watch.look(drift: .seconds(90), now: start + .seconds(21)) == .isOff(.seconds(90)))
        #expect(watch.look(drift: .zero, now: start + .seconds(22)) == .good)
        #expect(watch.look(drift: .seconds(90), now: start + .seconds(31)) == .isOff(.seconds(90)))
    }

    @Test("what one role finds of the wall clock is known to all roles of the process, and is told once in 10 s")
    func follows() {
        let start = ContinuousClock.now
        let clock = PipelineClock(wall: 5_000, began: start)
        let log = LogEntries()
        let roles = ["pipeline", "broadcasts", "deliver"].map { role in
            var logger = Logger(label: "test", sink: log)
            logger.metadata["role"] = role
            return logger
        }
        for second in 0...20 {
            let now = start + .seconds(second)
            #expect(
                clock.now(now) == WallTime(milliseconds: 5_000 + Int64(second) * 1_000 + (second > 10 ? 100_000 : 0)))
            for role in roles {
                clock.compare(with: WallTime(milliseconds: 105_000 + Int64(second) * 1_000), now: now, role)
            }
            #expect(clock.isOff == (second < 10 ? 100 : nil))
        }
        #expect(clock.changes == 1)
        #expect(log.all.allSatisfy { $0.metadata.isEmpty })
        #expect(
            log.messages == [
                "the wall clock is off by 100 s since the start: not ready; what depends on the time continues by the "
                    + "elapsed time", "the wall clock was set by 100 s and has stayed there: it is followed",
            ])
    }

    // MARK: The broker's clock

    private let start = ContinuousClock.now
    private let host = RoleHost(clock: PipelineClock(wall: 1_000_000_000))
    private let logger = Logger(label: "test", level: .critical)

    /// For the role, so many seconds later.
    private func setWallClock(by seconds: Int64, after time: Int = 0) {
        let now = start + .seconds(time)
        host.clock.compare(with: host.clock.now(now) + seconds * 1_000, now: now, logger)
    }

    private func look(_ check: inout ClockCheck, after seconds: Int = 10, broker difference: Int64?) {
        guard check.isLookDue(host, now: .now + .seconds(seconds)) else { return }
        check.compare(difference.map { host.clock.now() + $0 * 1_000 }, host, of: "lane fcm", logger)
    }

    @Test(
        "nothing is decided by a clock that is a minute from the broker's, in either direction; the reason says by how much"
    )
    func broker() {
        var check = ClockCheck()
        #expect(!check.isRight(host))
        look(&check, broker: -7_200)
        #expect(!check.isRight(host) && host.health.clockIsAhead == 7_200)
        look(&check, after: 20, broker: 7_200)
        #expect(!check.isRight(host) && host.health.clockIsAhead == -7_200)
        look(&check, after: 30, broker: 59)
        #expect(check.isRight(host) && host.health.clockIsAhead == nil)
    }

    @Test("a broker that does not tell its time is believed to agree")
    func silentBroker() {
        var check = ClockCheck()
        look(&check, broker: nil)
        #expect(check.isRight(host))
    }

    @Test("the broker is asked once in 10 s, and never while the wall clock is off")
    func asking() {
        var check = ClockCheck()
        look(&check, after: 10, broker: -7_200)
        look(&check, after: 11, broker: 0)
        #expect(!check.isRight(host))
        setWallClock(by: -7_200)
        look(&check, after: 20, broker: 0)
        #expect(!check.isRight(host))
        setWallClock(by: 0)
        look(&check, after: 20, broker: 0)
        #expect(check.isRight(host))
    }

    @Test(
        "a clock that was right decides nothing while the wall clock is off, nor after it was followed, before the broker agrees"
    )
    func again() {
        var check = ClockCheck()
        look(&check, broker: 0)
        setWallClock(by: 90)
        #expect(!check.isRight(host))
        setWallClock(by: 90, after: 10)
        #expect(host.clock.isOff == nil)
        #expect(!check.isRight(host))
        look(&check, after: 20, broker: 0)
        #expect(check.isRight(host))
    }
}
