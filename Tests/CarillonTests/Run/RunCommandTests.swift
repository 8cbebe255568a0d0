import Testing

@Suite struct RunCommandTests {
    @Test("an HTTP address that is invalid, ends run with 64, and one that is not of this machine with 78; it is named")
    func httpAddress() throws {
        let wrong = try CommandProcess.run(["run", "-b", "127.0.0.1:1", "--http", "9464"])
        #expect(wrong.status == 64)
        #expect(wrong.errors.contains("--http: '9464' is not allowed"))
        #expect(wrong.errors.contains("host:port, such as 127.0.0.1:9464"))
        let strange = try CommandProcess.run(
            ["run", "-b", "127.0.0.1:1"], environment: ["CARILLON_HTTP": "203.0.113.7:9464"])
        #expect(strange.status == 78)
        #expect(strange.errors.contains("cannot serve HTTP at 203.0.113.7:9464"))
    }
}
