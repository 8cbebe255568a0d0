import Testing

@testable import Arguments
@testable import carillon

@Suite("Nothing is sent without both confirmations") struct RedriveCommandTests {
    private func confirmation(given: Int? = nil, isTerminal: Bool = true) -> NotifyConfirmation {
        NotifyConfirmation(
            count: 1_312, unit: "devices", option: "--confirm-devices", given: given, isTerminal: isTerminal)
    }

    private func refusal(of confirmation: NotifyConfirmation, typed: String?) -> CommandFailure? {
        do {
            try confirmation.check(ask: { _ in }, readLine: { typed })
            return nil
        } catch {
            return error
        }
    }

    @Test("the right number is accepted, typed or given")
    func right() {
        for typed in ["1312", " 1312 \r", "1,312"] { #expect(refusal(of: confirmation(), typed: typed) == nil) }
        #expect(refusal(of: confirmation(given: 1_312, isTerminal: false), typed: nil) == nil)
    }

    @Test(
        "any other answer, none, and the end of the input are refused with 78",
        arguments: ["", "1313", "1311", "13120", "131", "yes", "y", "01312", "+1312", "1312 1312", "1.312", nil])
    func wrong(typed: String?) throws {
        let failure = try #require(refusal(of: confirmation(), typed: typed))
        #expect(failure.code == .configuration && failure.lines[0].hasSuffix("nothing was sent"))
    }

    @Test("a wrong number given as an option is not corrected by a prompt")
    func givenWrong() throws {
        for given in [0, 1_311, 1_313] {
            var wasAsked = false
            #expect(throws: CommandFailure.self) {
                try confirmation(given: given).check(ask: { _ in wasAsked = true }, readLine: { "1312" })
            }
            #expect(!wasAsked)
        }
    }

    @Test("without a terminal there is no prompt, and the option is named")
    func noTerminal() throws {
        let failure = try #require(refusal(of: confirmation(isTerminal: false), typed: "1312"))
        #expect(failure.code == .configuration && failure.lines[0].contains("--confirm-devices 1312"))
    }

    @Test(
        "the command wants its flag, and takes no input that it could not be sure of",
        arguments: [
            (["--confirm-devices", "3"], "--i-understand-this-notifies-people"),
            ([], "--i-understand-this-notifies-people"),
            (["--i-understand-this-notifies-people", "--no-journal"], "--no-journal"),
            (["--i-understand-this-notifies-people", "--source", "f", "--subscriptions-file", "g"], "--source"),
            (["--i-understand-this-notifies-people", "--max-devices", "0"], "--max-devices"),
            (["--i-understand-this-notifies-people", "--undelivered", "--include-sent"], "--undelivered"),
            (["--i-understand-this-notifies-people", "--rate", "0"], "--rate"),
            (["--i-understand-this-notifies-people", "--max-age", "soon"], "--max-age"),
            (["--i-understand-this-notifies-people", "--id", "a b"], "--id"),
            (["--i-understand-this-notifies-people", "--confirm-devices", "many"], "--confirm-devices"),
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
        for option in ["--i-understand-this-notifies-people", "--confirm-devices=1"] {
            let result = try CommandProcess.run(["replay", command, option, "-b", "127.0.0.1:1"])
            #expect(result.status == 64 && result.errors.contains("no such option"), "\(result.errors)")
        }
    }

    @Test("options that affect the selection are in the digest; those for sending are not")
    func digest() throws {
        let plain = try digest([])
        #expect(plain.utf8.count == 16)
        let same = ["--rate", "3", "--max-devices", "5", "--confirm-devices", "7", "--max-age", "60m", "--id", "x"]
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
