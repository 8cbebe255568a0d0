import Testing

@testable import Arguments
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

    @Test("options that affect the selection are in the digest; those for sending are not")
    func digest() throws {
        let plain = try digest([])
        #expect(plain.utf8.count == 16)
        let same = ["--rate", "3", "--most", "5", "--confirm", "7", "--max-age", "60m", "--id", "x"]
        #expect(try digest(same + ["--subscriptions", "both"]) == plain)
        let others = try [
            ["--from", "-2h"], ["--to", "-2h"], ["--offsets", "1..2"], ["--partition", "1"], ["--order", "1"],
            ["--place", "1"], ["--type", "ORDER_CREATED"], ["--status", "1"], ["--status", "1", "--status", "2"],
            ["--subscriptions", "now"], ["--max-age", "61m"], ["--include-sent"], ["--undelivered"],
            ["--undelivered", "--set", "topic.deliveries=another"], ["--set", "notification.ttl=30m"],
            ["--group", "another"], ["--set", "topic.dispatch=another"], ["--set", "topic.events=another"],
        ].map(digest)
        #expect(Set(others + [plain]).count == others.count + 1)
        #expect(try digest(["--order", "1", "--order", "2"]) == digest(["--order", "2", "--order", "1"]))
    }

    private func digest(_ words: [String]) throws -> String {
        guard case .run(let parsed) = CommandParser(Carillon.self).parse(["replay", "redrive", "--dry-run"] + words)
        else {
            Issue.record("\(words) cannot be parsed")
            return ""
        }
        let command = try #require(parsed as? ReplayRedriveCommand)
        let configuration = try command.options.load(needsBroker: false, environment: ["HOME": "/home/x"]).checked()
        return RedriveDigest.make(command.selection, command.redrive, configuration)
    }
}
