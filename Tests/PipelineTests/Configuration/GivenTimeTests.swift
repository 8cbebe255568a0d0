import Testing

@testable import Pipeline

@Suite struct GivenTimeTests {
    private static let day: WallTime = 86_400_000

    @Test(
        "a time is an ISO time, a date, which is its midnight in UTC, or so long ago",
        arguments: [
            ("1970-01-02T00:00:01Z", GivenTime.at(day + 1_000)), ("1970-01-01T01:00:00.25+01:00", .at(250)),
            ("1970-01-02", .at(day)), ("1970-01-02T00:00", .at(day)), ("1972-02-29", .at(.epoch + 789 * 86_400_000)),
            ("-90s", .ago(.seconds(90))), ("-90m", .ago(.seconds(5_400))), ("-1h", .ago(.seconds(3_600))),
            ("-2d", .ago(.seconds(172_800))),
        ])
    func times(_ text: String, _ time: GivenTime) {
        #expect(GivenTime(text) == time)
    }

    @Test(
        "a day or time that does not exist is refused, and so is what could be something else",
        arguments: [
            "2026-02-30", "2026-02-30T10:00:00Z", "2027-02-29", "2026-13-01", "2026-11-21T25:00:00Z",
            "2026-11-21T24:00:00Z", "2026-11-21T10:60:00Z", "1969-12-31", "2026-11", "2026-11-21x", " 2026-11-21",
            "10:00",
            "1764000000", "1764000000000", "12", "-", "-5", "-1w", "-1.5h", "--1h", "- 1h", "1h", "yesterday", "",
        ])
    func noTimes(_ text: String) {
        #expect(GivenTime(text) == nil)
    }

    @Test("so long ago counts from the start of the command, and never before 1970")
    func ago() {
        #expect(GivenTime.ago(.seconds(3)).time(now: 10_000) == 7_000)
        #expect(GivenTime.ago(.seconds(30)).time(now: 10_000) == 0)
        #expect(GivenTime.at(42).time(now: 10_000) == 42)
    }
}
