import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Notifications

@Suite("Time zones")
struct TimeZoneTests {
    @Test(
        "a table has the offsets of its zone, at and around every transition",
        arguments: [
            "UTC", "Europe/Berlin", "Europe/London", "America/New_York", "America/Sao_Paulo", "Asia/Kolkata",
            "Asia/Kathmandu", "Asia/Pyongyang", "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Kiritimati",
            "Africa/Casablanca", "Africa/Lagos", "Antarctica/Troll", "America/Caracas", "Asia/Tehran", "Etc/GMT+12",
        ])
    func offsets(_ name: String) throws {
        let zone = try #require(TimeZone(identifier: name))
        let table = try #require(TimeZoneTable(identifier: name))
        var instant = Date(timeIntervalSince1970: 0)
        let end = Date(timeIntervalSince1970: 4_102_444_800)
        while let next = zone.nextDaylightSavingTimeTransition(after: instant), next > instant, next < end {
            for delta in [-1.0, 0, 1] {
                let moment = next.addingTimeInterval(delta)
                #expect(
                    table.offset(at: Int64(moment.timeIntervalSince1970)) == zone.secondsFromGMT(for: moment),
                    "\(name) \(moment)")
            }
            instant = next
        }
        for day in stride(from: 0, to: 4_102_444_800, by: 86_400 * 10) {
            let moment = Date(timeIntervalSince1970: TimeInterval(day))
            #expect(table.offset(at: Int64(day)) == zone.secondsFromGMT(for: moment), "\(name) \(moment)")
        }
    }

    @Test("§5.2: a clock that is put forward and back shows the right time around the change")
    func changes() throws {
        let berlin = try #require(TimeZoneTable(identifier: "Europe/Berlin"))
        // 2025-03-30T01:00:00Z and 2025-10-26T01:00:00Z.
        #expect(berlin.wallClock(at: 1_743_296_399_999)?.time == ClockTime(hour: 1, minute: 59))
        #expect(berlin.wallClock(at: 1_743_296_400_000)?.time == ClockTime(hour: 3, minute: 0))
        #expect(berlin.wallClock(at: 1_761_440_399_999)?.time == ClockTime(hour: 2, minute: 59))
        #expect(berlin.wallClock(at: 1_761_440_400_000)?.time == ClockTime(hour: 2, minute: 0))
    }

    @Test("threads that look up a zone at the same time get the same offsets")
    func threads() {
        let names = ["America/Adak", "Asia/Hovd", "Australia/Eucla", "Pacific/Chatham"]
        let offsets = Mutex<[String: Set<Int>]>([:])
        DispatchQueue.concurrentPerform(iterations: 16) { index in
            let name = names[index % 4]
            guard let table = TimeZoneTable(identifier: name) else { return }
            let offset = table.offset(at: 1_743_296_400)
            offsets.withLock { _ = $0[name, default: []].insert(offset) }
        }
        #expect(offsets.withLock { $0.mapValues(\.count) } == Dictionary(uniqueKeysWithValues: names.map { ($0, 1) }))
    }

    @Test("before 1970 and after 2100 the nearest offset applies")
    func outside() throws {
        let berlin = try #require(TimeZoneTable(identifier: "Europe/Berlin"))
        #expect(berlin.offset(at: -10_000_000_000) == 3600)
        #expect(berlin.offset(at: 10_000_000_000) == 3600)
        #expect(berlin.wallClock(at: -1)?.date == CivilDate(year: 1970, month: 1, day: 1))
        #expect(TimeZoneTable.utc.wallClock(at: -1)?.date == CivilDate(year: 1969, month: 12, day: 31))
        #expect(TimeZoneTable.utc.wallClock(at: -1)?.time == .lastMinute)
    }
}
