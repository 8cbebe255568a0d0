import Notifications
import Testing

@Suite("Codes of dead letters")
struct DeadLetterCodeTests {
    @Test("every code has its own label, which finds it; any other label finds none")
    func labels() {
        for code in DeadLetter.Code.allCases { #expect(DeadLetter.Code(label: code.label) == code) }
        #expect(DeadLetter.Code(label: "wrong_moon") == nil)
    }
}
