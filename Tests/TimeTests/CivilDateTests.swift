import Testing

@testable import Time

@Suite("Calendar dates")
struct CivilDateTests {
    @Test("every day of four centuries converts to a date and back")
    func calendar() throws {
        var previous = try #require(CivilDate(daysSinceEpoch: -146_098))
        for days in -146_097...146_097 {
            let date = try #require(CivilDate(daysSinceEpoch: days))
            guard date.daysSinceEpoch == days, date != previous,
                CivilDate(year: date.year, month: date.month, day: date.day) == date
            else {
                Issue.record("day \(days)")
                return
            }
            previous = date
        }
        #expect(CivilDate(daysSinceEpoch: 0) == CivilDate(year: 1970, month: 1, day: 1))
        #expect(CivilDate(daysSinceEpoch: 20_276) == CivilDate(year: 2025, month: 7, day: 7))
        #expect(CivilDate(daysSinceEpoch: 2_932_896) == .last)
        #expect(CivilDate(daysSinceEpoch: 2_932_897) == nil)
        #expect(CivilDate(daysSinceEpoch: -719_162) == CivilDate(year: 1, month: 1, day: 1))
        #expect(CivilDate(daysSinceEpoch: -719_163) == nil)
    }
}
