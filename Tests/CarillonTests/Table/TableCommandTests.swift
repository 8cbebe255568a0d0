import Testing

@Suite struct TableCommandTests {
    @Test("a missing table is an error for check, and none for wipe")
    func noTable() throws {
        let arguments = ["--state-dir", "/nonexistent/carillon"]
        #expect(try CommandProcess.run(["table", "wipe"] + arguments).status == 0)
        let checked = try CommandProcess.run(["table", "check"] + arguments)
        #expect(checked.status == 1)
        #expect(checked.errors == "carillon: state.dir: there is no table in /nonexistent/carillon\n")
    }
}
