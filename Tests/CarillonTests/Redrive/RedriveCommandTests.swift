import Testing

@testable import carillon

@Suite("Nothing is sent without both confirmations") struct RedriveCommandTests {
    @Test(
        "the command wants its flag, and takes no input that it could not be sure of",
        arguments: [
            (["--confirm", "3"], "--i-understand-this-notifies-people"),
            ([], "--i-understand-this-notifies-people"),
            (["--i-understand-this-notifies-people", "--no-journal"], "--no-journal"),
            (["--i-understand-this-notifies-people", "--most", "0"], "--most"),
            (["--i-understand-this-notifies-people", "--yes"], "--yes needs --most"),
            (["--i-understand-this-notifies-people", "--undelivered", "--include-sent"], "--undelivered"),
            (["--i-understand-this-notifies-people", "--rate", "0"], "--rate"),
            (["--i-understand-this-notifies-people", "--max-age", "soon"], "--max-age"),
            (["--i-understand-this-notifies-people", "--id", "a b"], "--id"),
            (["--i-understand-this-notifies-people", "--confirm", "many"], "--confirm"),
            (["--i-understand-this-notifies-people=no"], "--i-understand-this-notifies-people"),
        ])
    func usage(words: [String], named: String) throws {
        let result = try CommandProcess.run(["replay", "redrive", "-b", "127.0.0.1:1"] + words)
        #expect(result.status == 64, "\(words): \(result.errors)")
        #expect(result.errors.contains(named), "\(words): \(result.errors)")
        #expect(result.output.isEmpty)
    }

    @Test("no other replay command has the confirmations", arguments: ["plan", "diff", "write"])
    func others(command: String) throws {
        for option in ["--i-understand-this-notifies-people", "--confirm=1"] {
            let result = try CommandProcess.run(["replay", command, option, "-b", "127.0.0.1:1"])
            #expect(result.status == 64 && result.errors.contains("no such option"), "\(result.errors)")
        }
    }
}
