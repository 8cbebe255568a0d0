import Events
import Testing

@Suite("Codes of dead letters")
struct DeadLetterCodeTests {
    @Test("every code has a label of its own, by which it is found; another label is no code")
    func labels() {
        for code in DeadLetter.Code.allCases { #expect(DeadLetter.Code(label: code.label) == code) }
        #expect(DeadLetter.Code(label: "wrong_moon") == nil)
    }
}
