/// The name of a run that sends again: an interrupted one resumes by it, and it is the value of the header `replay`.
package struct ResendID: Equatable, Sendable {
    package static let rule = "1 to 100 of the characters A-Z a-z 0-9 . _ -"

    package let text: String

    /// - Returns: nil if it breaks ``rule``.
    package init?(_ text: String) {
        let isAllowed = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard isAllowed, (1...100).contains(text.utf8.count) else { return nil }
        self.text = text
    }

    /// A new id: the time, for a person to recognize, and a random part.
    ///
    /// - Parameter time: such as `2026-11-22T05:30:00.000Z`.
    package init(time: String, random: UInt32) {
        let digits = String(random, radix: 36)
        let stamp = time.prefix(19).filter { $0 != "-" && $0 != ":" }
        text = "\(stamp)-\(String(repeating: "0", count: max(0, 7 - digits.count)))\(digits)"
    }
}
