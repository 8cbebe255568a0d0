import CarillonTesting
import StageSupport
import TestSupport
import Testing

@testable import Digests
@testable import Notifications
@testable import Pipeline

@Suite("Timers of one instant that take several transactions")
struct SliceTests {
    private let morning = ScheduleDriver.morning
    private let minute = ScheduleDriver.minute
    /// 2025-07-07T14:00Z.
    private let start = ScheduleDriver.morning + 7 * ScheduleDriver.hour
    private let slot = "2025-07-07 14:00-16:00"

    private func driver(_ orders: Int) throws -> ScheduleDriver {
        var driver = try ScheduleDriver()
        for number in 0..<orders { driver.append(event("o\(number)", status: "pending", slot: slot, at: morning)) }
        try driver.process()
        driver.output = RecordingSink()
        return driver
    }

    private func hash(_ order: String) -> StoredHash { Array(order.utf8).withUnsafeBytes(StoredHash.init(of:)) }

    private func byHash(_ orders: Int) -> [String] { (0..<orders).map { "o\($0)" }.sorted { hash($0) < hash($1) } }

    @Test("they are sent in the order of the order ids' hashes, and the watermark is at the last one that was sent")
    func order() throws {
        var driver = try driver(10)
        let orders = byHash(10)
        for slice in 0..<3 {
            try driver.tick(start + minute, slice: TickSlice(maxTimers: 3))
            #expect(driver.pushes == orders.prefix(3 * slice + 3).map { "\($0) timeslot_started" })
            let last = hash(orders[3 * slice + 2])
            #expect(driver.committed.watermark == TimerWatermark(start - 1, split: last.number))
        }
        try driver.tick(start + minute, slice: TickSlice(maxTimers: 3))
        #expect(driver.output.records.count == 10)
        #expect(driver.committed.watermark == TimerWatermark(start + minute))
    }

    @Test("after the last timer of an instant nothing is split")
    func wholeInstant() throws {
        var driver = try driver(3)
        for number in 0..<3 {
            driver.append(event("q\(number)", status: "pending", slot: "2025-07-07 14:05-16:00", at: morning))
        }
        try driver.process()
        try driver.tick(start + 10 * minute, slice: TickSlice(maxTimers: 3))
        #expect(driver.committed.watermark == TimerWatermark(start))
        try driver.tick(start + 10 * minute, slice: TickSlice(maxTimers: 3))
        #expect(driver.committed.watermark == TimerWatermark(start + 10 * minute))
    }

    @Test("a slice ends with the record that reaches the bound of its transaction, and has one timer at least")
    func records() throws {
        var driver = try driver(5)
        for bound in [2, 0, 1] {
            let before = driver.output.records.count
            try driver.tick(start, slice: TickSlice(maxRecords: bound))
            #expect(driver.output.records.count - before == max(1, bound))
        }
    }

    @Test("a slice ends when its transaction is too old, and has one timer at least")
    func age() throws {
        var driver = try driver(5)
        var looks = 0
        try driver.tick(
            start,
            slice: TickSlice(isTimeUp: {
                looks += 1
                return looks > 2
            }))
        #expect(driver.output.records.count == 3)
        try driver.tick(start, slice: TickSlice(isTimeUp: { true }))
        #expect(driver.output.records.count == 4)
    }

    @Test("an event between two slices sets, moves and cancels timers of the tick")
    func eventsBetween() throws {
        var driver = try driver(8)
        let orders = byHash(8)
        try driver.tick(start + 2 * minute, slice: TickSlice(maxTimers: 2))
        // One that was sent has its event repeated, two that were not are cancelled and moved, new ones come before and after.
        driver.append(
            event(orders[0], status: "processing", slot: slot, at: morning + 1),
            event(orders[4], "ORDER_STATUS_CHANGED", status: "cancelled", at: morning + 1),
            event(orders[5], status: "pending", slot: "2025-07-07 14:01-16:00", at: morning + 1),
            event(orders[6], status: "pending", slot: "2025-07-07 15:00-16:00", at: morning + 1))
        for number in 0..<20 {
            driver.append(event("n\(number)", status: "pending", slot: slot, at: morning + 1))
        }
        try driver.process()
        driver.output = RecordingSink()
        while driver.committed.watermark < TimerWatermark(start + 2 * minute) {
            try driver.tick(start + 2 * minute, slice: TickSlice(maxTimers: 2))
        }
        let gone = hash(orders[1])
        let late = (0..<20).map { "n\($0)" }.filter { hash($0) > gone }
        let left = [orders[2], orders[3], orders[7]] + late
        let expected = left.sorted { hash($0) < hash($1) } + [orders[5]]
        #expect(driver.pushes == expected.map { "\($0) timeslot_started" })
        #expect(!late.isEmpty && late.count < 20)
    }

    @Test("an abort takes a slice back, and it goes again as it was")
    func abort() throws {
        var driver = try driver(9)
        try driver.tick(start, slice: TickSlice(maxTimers: 4))
        let committed = driver.committed
        try driver.process(0, tick: start, slice: TickSlice(maxTimers: 3), aborts: true)
        #expect(driver.committed == committed)
        while driver.committed.watermark < TimerWatermark(start) {
            try driver.tick(start, slice: TickSlice(maxTimers: 2))
        }
        #expect(driver.pushes == byHash(9).map { "\($0) timeslot_started" })
    }

    @Test("who takes over between two slices sends the rest and nothing else")
    func takeOver() throws {
        var driver = try driver(9)
        try driver.tick(start, slice: TickSlice(maxTimers: 4))
        try driver.crash()
        let isDue = driver.core.orders.isDue(in: 0, at: start)
        #expect(isDue)
        try driver.tick(start + 1_000)
        #expect(driver.pushes == byHash(9).map { "\($0) timeslot_started" })
        let isStillDue = driver.core.orders.isDue(in: 0, at: start + 1_000)
        #expect(!isStillDue)
    }

    @Test("in slices as in one: a later reminder by T takes the place of an earlier one, whichever slice that is in")
    func supersession() throws {
        var driver = try driver(3)
        while driver.committed.watermark < TimerWatermark(start + 40 * minute) {
            try driver.tick(start + 40 * minute, clock: start + 16 * minute, slice: TickSlice(maxTimers: 1))
        }
        #expect(driver.output.dropped.filter { $0.reason == .superseded }.count == 3)
        #expect(driver.pushes.filter { $0.hasSuffix("reminder") }.count == 3)
    }

    @Test("timers that an event cancels are counted by what was sent of a split instant")
    func settled() throws {
        var driver = try driver(6)
        let orders = byHash(6)
        try driver.tick(start, slice: TickSlice(maxTimers: 3))
        driver.append(
            event(orders[0], "ORDER_STATUS_CHANGED", status: "cancelled", at: morning + 1),
            event(orders[5], "ORDER_STATUS_CHANGED", status: "cancelled", at: morning + 1))
        try driver.process()
        #expect(driver.counts.dropped(.ended) == 3 + 4)
        #expect(driver.views[orders[1]]?.pendingTimers.count == 3)
        #expect(driver.views[orders[4]]?.pendingTimers.count == 4)
    }

    @Test("what ends a slice in a replay is the watermark that it led to, and it sends the same")
    func replayed() throws {
        var live = try driver(7)
        var again = try driver(7)
        for bound in [3, 2, 9] {
            try live.tick(start + minute, slice: TickSlice(maxTimers: bound))
            try again.tick(start + minute, slice: .upTo(live.committed.watermark))
            #expect(again.output.records == live.output.records)
            #expect(again.committed.watermark == live.committed.watermark)
        }
        #expect(live.output.records.count == 7)
    }
}
