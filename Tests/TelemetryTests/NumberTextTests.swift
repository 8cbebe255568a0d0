import Testing

@testable import Telemetry

@Suite struct NumberTextTests {
    @Test(
        "rates from 10 on are whole and grouped, those below have one decimal, and 0 is 0",
        arguments: [
            (0, "0"), (0.04, "<0.1"), (0.05, "0.1"), (0.3, "0.3"), (1, "1.0"), (9.94, "9.9"), (9.96, "10"),
            (10.4, "10"),
            (36_244.2, "36,244"), (1_234_567, "1,234,567"), (-1, "0"),
        ])
    func rate(_ perSecond: Double, _ text: String) {
        #expect(NumberText.rate(perSecond) == text)
    }
}
