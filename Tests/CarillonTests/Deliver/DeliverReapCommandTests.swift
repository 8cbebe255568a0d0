import Testing

@testable import Arguments
@testable import carillon

@Suite("carillon deliver reap: what it asks for") struct DeliverReapCommandTests {
    private func refusal(given: Int?, typed: String?, isTerminal: Bool = true) -> CommandFailure? {
        do {
            try NotifyConfirmation(
                deed: .delete, count: 1_312, unit: "devices", option: "--confirm-devices", given: given,
                isTerminal: isTerminal
            ).check(ask: { #expect($0.hasPrefix("This deletes subscriptions. ")) }, readLine: { typed })
            return nil
        } catch {
            return error
        }
    }

    @Test("the number of devices is typed or given, and anything else deletes nothing: 78")
    func confirmation() {
        #expect(refusal(given: nil, typed: "1,312") == nil)
        #expect(refusal(given: 1_312, typed: nil, isTerminal: false) == nil)
        for refused in [
            refusal(given: 1_311, typed: nil), refusal(given: nil, typed: "yes"),
            refusal(given: nil, typed: nil, isTerminal: false),
        ] {
            #expect(refused?.code == .configuration)
            #expect(refused?.lines.allSatisfy { $0.hasSuffix("; nothing was deleted") } == true)
        }
    }

    @Test("--yes and --confirm-devices exclude each other, and the number is not negative: 64")
    func options() {
        for words in [["--yes", "--confirm-devices", "3"], ["--confirm-devices", "-1"]] {
            guard case .usage = CommandParser(Carillon.self).parse(["deliver", "reap"] + words) else {
                Issue.record("\(words) is accepted")
                continue
            }
        }
    }
}
