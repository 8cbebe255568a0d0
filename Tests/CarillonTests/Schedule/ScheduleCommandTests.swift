import Testing

@Suite struct ScheduleCommandTests {
    @Test("schedule=off has no timers to show: 78")
    func scheduleOff() throws {
        let result = try CommandProcess.run(["schedule", "-b", "127.0.0.1:1", "--set", "schedule=off"])
        #expect(result.status == 78)
        #expect(result.errors.contains("schedule=off: there are no timers"))
        #expect(try CommandProcess.run(["schedule", "-b", "127.0.0.1:1", "--limit", "-1"]).status == 64)
    }
}
