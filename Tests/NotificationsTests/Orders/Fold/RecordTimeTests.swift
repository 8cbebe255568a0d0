import CarillonTesting
import StageSupport
import Testing

@testable import Notifications

@Suite("What time a record counts as")
struct RecordTimeTests {
    private let morning = FoldDriver.morning

    private func driver(latest: WallTime) throws -> FoldDriver {
        var driver = try FoldDriver()
        driver.append(
            event("o1", status: "pending", at: morning, id: "a"),
            event("o2", status: "pending", at: .distantFuture, occurred: morning, id: "b"),
            event("o1", status: "pending", at: morning + 1, id: "a"),
            event("o2", status: "pending", at: .distantFuture, occurred: morning, id: "b"))
        driver.orders.latestTime = latest
        return driver
    }

    private func newest(_ driver: borrowing FoldDriver) -> WallTime? { driver.orders[0]?.newest }

    @Test("a record from the future expires nothing: an event that is repeated after it is a duplicate")
    func future() throws {
        var driver = try driver(latest: RecordTime.latest(at: morning))
        try driver.process()
        #expect(driver.suppressed == [.duplicate, .duplicate])
        let isBounded = driver.orders.hasBoundedTimes
        #expect(isBounded)
        #expect(newest(driver) == morning + FoldDriver.hour)
    }

    @Test("without a bound it would expire everything")
    func unbounded() throws {
        var driver = try driver(latest: .distantFuture)
        try driver.process()
        #expect(driver.suppressed.isEmpty)
    }

    @Test("a fold of what was processed before counts it as the newest record before it")
    func fold() throws {
        var driver = try driver(latest: RecordTime.latest(at: 0))
        driver.orders.beginFold(of: 0, latest: RecordTime.latest(at: morning))
        try driver.process()
        #expect(driver.suppressed == [.duplicate, .duplicate])
        #expect(newest(driver) == morning + 1)
        driver.orders[0]?.resume(watermark: driver.watermark, newest: morning + 5)
        #expect(newest(driver) == morning + 5)
        driver.orders.latestTime = morning + 7
        driver.append(event("o3", status: "pending", at: .distantFuture, occurred: morning, id: "c"))
        try driver.process()
        #expect(newest(driver) == morning + 7)
    }

    @Test("the time of an event whose record has none is bounded too")
    func eventTime() throws {
        var driver = try driver(latest: morning)
        var bare = event("o3", status: "pending", at: morning, occurred: morning + FoldDriver.day, id: "c")
        bare.timestamp = nil
        driver.append(bare)
        try driver.process()
        #expect(newest(driver) == morning)
    }
}
