import Testing

@testable import Arguments
@testable import carillon

// Testing has one, too.
private typealias Confirmation = carillon.Confirmation

@Suite("Nothing is done without the number in the plan") struct ConfirmationTests {
    private func refusal(of confirmation: Confirmation, typed: String? = nil) -> CommandFailure? {
        do {
            try confirmation.judge(1_312, of: "devices") { _ in typed }
            return nil
        } catch {
            return error
        }
    }

    @Test("the right number is accepted, typed or given")
    func right() {
        for typed in ["1312", " 1312 \r", "1,312"] {
            #expect(refusal(of: Confirmation(deed: .resend, isTerminal: true), typed: typed) == nil)
        }
        #expect(refusal(of: Confirmation(deed: .resend, given: 1_312, isTerminal: false)) == nil)
    }

    @Test(
        "any other answer, none, and the end of the input are refused with 78",
        arguments: ["", "1313", "1311", "13120", "131", "yes", "y", "01312", "+1312", "1312 1312", "1.312", nil])
    func wrong(typed: String?) throws {
        let failure = try #require(refusal(of: Confirmation(deed: .resend, isTerminal: true), typed: typed))
        #expect(failure.code == .configuration && failure.lines[0].hasSuffix("nothing was sent"))
    }

    @Test("a wrong number given as an option is not corrected by a prompt")
    func givenWrong() {
        for given in [0, 1_311, 1_313] {
            var wasAsked = false
            #expect(throws: CommandFailure.self) {
                try Confirmation(deed: .resend, given: given, isTerminal: true).judge(1_312, of: "devices") { _ in
                    wasAsked = true
                    return "1312"
                }
            }
            #expect(!wasAsked)
        }
    }

    @Test("the number that was confirmed when an interrupted run began is right as long as the number is not larger")
    func resumed() {
        for (given, isRight) in [(1_311, false), (1_312, true), (1_313, true), (2_000, true)] {
            let confirmation = Confirmation(deed: .resend, given: given, isTerminal: false)
            let found: Void? = try? confirmation.judge(1_312, of: "devices", isResumed: true) { _ in nil }
            #expect((found != nil) == isRight, "\(given)")
        }
        #expect(throws: CommandFailure.self) {
            try Confirmation(deed: .resend, isTerminal: true).judge(1_312, of: "devices", isResumed: true) { _ in "1313"
            }
        }
    }

    @Test(
        "without a terminal there is no prompt: 78, or 64 where a flag without a number is enough",
        arguments: [
            (carillon.Confirmation.Deed.resend, ExitCode.configuration, "give --confirm 1312; nothing was sent"),
            (.putBack, .configuration, "give --confirm 1312; nothing was put back"),
            (.delete, .configuration, "give --confirm 1312; nothing was deleted"),
            (.move, .configuration, "give --confirm 1312; nothing was moved"),
            (.send, .usage, "give --yes or --confirm 1312; nothing was sent"),
            (.cancel, .usage, "give --yes or --confirm 1312; nothing was cancelled"),
        ])
    func noTerminal(deed: carillon.Confirmation.Deed, code: ExitCode, end: String) throws {
        let failure = try #require(refusal(of: Confirmation(deed: deed, isTerminal: false), typed: "1312"))
        #expect(failure.code == code && failure.lines[0].hasSuffix(", which is 1,312: " + end))
    }

    @Test("a limit is a limit for whoever types, gives or leaves out the number")
    func limit() throws {
        for (isUnasked, given) in [(true, nil), (false, 1_312), (false, nil)] as [(Bool, Int?)] {
            let confirmation = Confirmation(
                deed: .delete, isUnasked: isUnasked, given: given, most: 1_311, isTerminal: true)
            let failure = try #require(refusal(of: confirmation, typed: "1312"))
            #expect(failure.code == .configuration)
            #expect(
                failure.lines == ["1,312 devices are more than --most allows, which is 1,311; nothing was deleted"])
        }
        #expect(refusal(of: Confirmation(deed: .delete, isUnasked: true, most: 1_312, isTerminal: false)) == nil)
    }

    @Test("few need no confirmation, but a number that is given has to be right")
    func unasked() {
        #expect(refusal(of: Confirmation(deed: .send, mostUnasked: 1_312, isTerminal: false)) == nil)
        #expect(refusal(of: Confirmation(deed: .send, mostUnasked: 1_311, isTerminal: false)) != nil)
        #expect(refusal(of: Confirmation(deed: .send, given: 1, mostUnasked: 1_312, isTerminal: false)) != nil)
    }

    @Test("a signal at the prompt ends the command with 75")
    func stopped() throws {
        let failure = try #require(
            refusal(of: Confirmation(deed: .putBack, isTerminal: true, isStopped: { true })))
        #expect(failure.code == .notInTime && failure.lines == ["stopped; nothing was put back"])
    }

    @Test(
        "the same options everywhere, and all their problems at once: 64",
        arguments: [
            "deliver reap", "subscriptions mend", "broadcast send f", "broadcast cancel 1", "notify",
            "replay redrive --i-understand-this-notifies-people",
            "replay dead-letters --i-understand-this-notifies-people",
        ])
    func usage(command: String) {
        let words = command.split(separator: " ").map(String.init)
        let outcome = CommandParser(Carillon.self).parse(words + ["--yes", "--confirm", "-1", "--most", "0"])
        guard case .usage(let problems) = outcome else {
            Issue.record("it is accepted")
            return
        }
        for problem in ["--confirm -1 is not allowed", "--most 0 is not allowed", "--yes and --confirm exclude"] {
            #expect(problems.contains(problem), "\(problems)")
        }
    }
}
