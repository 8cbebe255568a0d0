import CarillonTesting
import StageSupport
import Testing

@testable import Notifications
@testable import Pipeline

@Suite("Timers of orders, where clocks are put forward and back")
struct ScheduleZoneTests {
    private let minute = ScheduleDriver.minute
    private let hour = ScheduleDriver.hour
    private let day = ScheduleDriver.day

    @Test(
        "daylight saving begins: a local time that does not exist fires at the next one that does",
        arguments: [
            ("Europe/Berlin", "2025-03-30 02:30-04:00", "2025-03-30T01:00:00.000Z"),
            ("America/New_York", "2025-03-09 02:30-04:00", "2025-03-09T07:00:00.000Z"),
            ("Australia/Lord_Howe", "2025-10-05 02:15-04:00", "2025-10-04T15:30:00.000Z"),
            ("Europe/Berlin", "2025-03-30 01:59-04:00", "2025-03-30T00:59:00.000Z"),
            ("Europe/Berlin", "2025-03-30 03:00-04:00", "2025-03-30T01:00:00.000Z"),
        ])
    func springForward(_ zone: String, _ slot: String, _ expected: String) throws {
        #expect(try due(zone, slot) == expected)
    }

    @Test(
        "daylight saving ends: a local time that exists twice fires once, at the first",
        arguments: [
            ("Europe/Berlin", "2025-10-26 02:30-04:00", "2025-10-26T00:30:00.000Z"),
            ("America/New_York", "2025-11-02 01:30-04:00", "2025-11-02T05:30:00.000Z"),
            ("Australia/Lord_Howe", "2025-04-06 01:45-04:00", "2025-04-05T14:45:00.000Z"),
            ("Europe/Berlin", "2025-10-26 03:00-04:00", "2025-10-26T02:00:00.000Z"),
        ])
    func fallBack(_ zone: String, _ slot: String, _ expected: String) throws {
        #expect(try due(zone, slot) == expected)
    }

    @Test(
        "the leap day is a day, and a year without it has none",
        arguments: [
            ("Asia/Tokyo", "2028-02-29 09:00-10:00", "2028-02-29T00:00:00.000Z"),
            ("Pacific/Kiritimati", "2028-03-01 09:00-10:00", "2028-02-29T19:00:00.000Z"),
        ])
    func leapDay(_ zone: String, _ slot: String, _ expected: String) throws {
        #expect(try due(zone, slot) == expected)
    }

    @Test("reminders come 15, 30 and 45 minutes after the start, whatever the clocks do in between")
    func remindersAcrossTheChange() throws {
        var driver = try ScheduleDriver(timeZone: "Europe/Berlin")
        let created = try #require(WallTime(iso: "2025-03-29T12:00:00Z"))
        driver.append(event("o1", status: "pending", slot: "2025-03-30 01:50-04:00", at: created))
        try driver.process()
        let timers = try #require(driver.views["o1"]?.timers)
        #expect(timers.map { $0 - timers[0] } == [0, 15 * minute, 30 * minute, 45 * minute])
        #expect(timers[0].iso8601 == "2025-03-30T00:50:00.000Z")
    }

    private func due(_ zone: String, _ slot: String) throws -> String? {
        var driver = try ScheduleDriver(timeZone: zone)
        let created = try #require(WallTime(iso: "\(slot.prefix(10))T00:00:00Z")) - 10 * day
        driver.append(event("o1", status: "pending", slot: slot, at: created))
        try driver.process()
        let first = try #require(driver.views["o1"]?.timers.first)
        driver.output = RecordingSink()
        try driver.tick(first - 1)
        #expect(driver.output.records.isEmpty)
        try driver.tick(first)
        try driver.tick(first + 2 * hour, clock: first)
        #expect(driver.pushes.filter { $0.hasSuffix("timeslot_started") }.count == 1)
        return first.iso8601
    }
}

extension WallTime {
    /// `2025-07-07T14:00:00Z`.
    init?(iso text: String) {
        guard case .at(let time) = GivenTime(text) else { return nil }
        self = time
    }
}
