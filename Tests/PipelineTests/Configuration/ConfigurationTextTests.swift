import Testing

@testable import Pipeline

@Suite struct ConfigurationTextTests {
    @Test(
        "a duration is a whole number with a unit",
        arguments: [
            ("50ms", Duration.milliseconds(50)), ("30s", .seconds(30)), ("5m", .seconds(300)),
            ("12h", .seconds(43_200)),
            ("270d", .seconds(23_328_000)), ("0s", .zero),
        ])
    func durations(_ text: String, _ duration: Duration) {
        #expect(ConfigurationText.duration(text) == duration)
    }

    @Test(
        "anything else is no duration",
        arguments: [
            "", "5", "s", "-5s", "5 s", "1.5s", "5S", "5min", "99999999999999999999s", "9223372036854775807d", "٥s",
        ])
    func noDurations(_ text: String) {
        #expect(ConfigurationText.duration(text) == nil)
    }

    @Test("a duration is written in the largest unit that is whole")
    func durationText() {
        #expect(ConfigurationText.text(.milliseconds(50)) == "50ms")
        #expect(ConfigurationText.text(.seconds(90)) == "90s")
        #expect(ConfigurationText.text(.seconds(86_400)) == "1d")
        #expect(ConfigurationText.text(.zero) == "0ms")
    }

    @Test("a start position is earliest, latest or a time, and -1h is an hour before the start")
    func startPositions() {
        typealias Position = PipelineConfiguration.StartPosition
        #expect(Position("Earliest", now: 0) == .earliest)
        #expect(Position("latest", now: 0) == .latest)
        #expect(Position("1970-01-01T00:00:01Z", now: 0) == .time(1_000))
        #expect(Position("-1h", now: 5_000_000) == .time(1_400_000))
        #expect(Position("now", now: 0) == nil)
    }

    @Test(
        "what could leave its folder is no name",
        arguments: ["", ".", "..", "a/b", "a b", "ä", String(repeating: "a", count: 201)])
    func names(_ text: String) {
        #expect(!ConfigurationText.isName(text))
    }
}
