import Testing

@Suite struct TableCommandTests {
    @Test("a missing table is an error")
    func noTable() throws {
        let checked = try CommandProcess.run(["table", "check", "--state-dir", "/nonexistent/carillon"])
        #expect(checked.status == 1)
        #expect(checked.errors == "carillon: state.dir: there is no table in /nonexistent/carillon\n")
    }
}
