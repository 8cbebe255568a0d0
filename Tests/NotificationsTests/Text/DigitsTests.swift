import Testing

@testable import Notifications

@Suite("Numbers in digits") struct DigitsTests {
    @Test(
        "only digits of ASCII are a number, and none that is too large",
        arguments: [
            ("0", 0), ("007", 7), ("9223372036854775807", .max), ("9223372036854775808", nil),
            ("92233720368547758070", nil), ("", nil), ("-1", nil), ("+1", nil), (" 1", nil), ("1a", nil), ("٣", nil),
        ] as [(String, Int64?)])
    func digits(text: String, number: Int64?) {
        #expect(Int64(digits: text.utf8) == number)
    }
}
