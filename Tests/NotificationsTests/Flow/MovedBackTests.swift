import CarillonTesting
import StageSupport
import Testing

@testable import Notifications
@testable import Pipeline

/// What `carillon offsets set` says of a move back beyond `state.horizon`.
@Suite("A partition that is moved back continues under its newest timestamp")
struct MovedBackTests {
    private let morning = ScheduleDriver.morning
    private let day = ScheduleDriver.day

    /// Two status changes of an order, the first twice and the same status again, and an event `age` after them.
    private func driver(age: Int64, infers: Bool = false) throws -> ScheduleDriver {
        var orders = OrderRules()
        orders.horizon = .seconds(86_400)
        var driver = try ScheduleDriver(orders: orders, infersStatusChanges: infers)
        let first = event("o1", "ORDER_STATUS_CHANGED", status: "pending", at: morning, id: "a")
        driver.append(
            first, first, event("o1", "ORDER_STATUS_CHANGED", status: "pending", at: morning + 1, id: "b"),
            event("o1", "ORDER_STATUS_CHANGED", status: "picking", at: morning + 2, id: "c"),
            event("o2", at: morning + age, id: "d"))
        return driver
    }

    @Test(
        "beyond the horizon a duplicate is sent, and a status change without the status before it, even where it is the same"
    )
    func beyond() throws {
        var driver = try driver(age: day + 2_000)
        try driver.process()
        #expect(
            driver.output.records.count == 3 && driver.output.suppressed.map(\.reason) == [.duplicate, .notATransition])
        driver.output = RecordingSink()
        try driver.moveBack(to: 0)
        try driver.process()
        #expect(driver.output.records.count == 5 && driver.output.suppressed.isEmpty)
        #expect(driver.output.records[..<4].allSatisfy { $0.text.contains(#"previous_status\":\"unknown"#) })
    }

    @Test("beyond the horizon an event without a type notifies nobody")
    func snapshots() throws {
        var orders = OrderRules()
        orders.horizon = .seconds(86_400)
        var driver = try ScheduleDriver(orders: orders, infersStatusChanges: true)
        for (index, status) in ["pending", "picking"].enumerated() {
            driver.append(
                SampleRecord(
                    key: "o1", value: #"{"id":"o1","place_id":"p1","status":"\#(status)"}"#,
                    at: morning + Int64(index) * 1_000))
        }
        driver.append(event("o2", at: morning + day + 2_000))
        try driver.process()
        #expect(driver.output.records.count == 2 && driver.output.suppressed.map(\.reason) == [.notATransition])
        driver.output = RecordingSink()
        try driver.moveBack(to: 0)
        try driver.process()
        #expect(
            driver.output.records.count == 1
                && driver.output.suppressed.map(\.reason) == [.notATransition, .notATransition])
    }

    @Test("within the horizon the same is sent as before")
    func within() throws {
        var driver = try driver(age: day / 2)
        try driver.process()
        let before = driver.output
        driver.output = RecordingSink()
        try driver.moveBack(to: 0)
        try driver.process()
        #expect(driver.output.records == before.records && driver.output.suppressed == before.suppressed)
    }

    @Test("timers that were sent are not sent again, however far it is moved back", arguments: [1, 3] as [Int64])
    func timers(days: Int64) throws {
        var orders = OrderRules()
        orders.horizon = .seconds(86_400)
        var driver = try ScheduleDriver(orders: orders)
        driver.append(event("o1", status: "pending", slot: "2025-07-07 14:00-16:00", at: morning))
        try driver.process()
        try driver.tick(morning + 7 * ScheduleDriver.hour + ScheduleDriver.minute)
        #expect(driver.pushes.filter { $0.hasSuffix("timeslot_started") }.count == 1)
        driver.append(event("o2", at: morning + days * day - ScheduleDriver.hour))
        try driver.process()
        driver.output = RecordingSink()
        try driver.moveBack(to: 0)
        try driver.process()
        try driver.tick(morning + days * day)
        #expect(!driver.pushes.contains { $0.hasPrefix("o1 timeslot") || $0.hasPrefix("o1 unpicked") })
    }
}

extension ScheduleDriver {
    /// As `offsets set` and a restart do it: the state is folded from two horizons before the newest timestamp, as far as that
    /// is below the offset, and watermark and newest timestamp stay.
    mutating func moveBack(to offset: Int) throws {
        committed.offset = offset
        try crash()
        _ = core.orders.resume(0, watermark: committed.watermark, newest: committed.newest)
    }
}
