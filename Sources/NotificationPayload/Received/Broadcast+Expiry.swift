extension Broadcast.Expiry {
    private static let unit = "millis"
    /// So many digits always fit.
    private static let mostDigits = 18
    /// Smaller numbers are no instants (docs/rules.md §14.1).
    package static let firstInstant: Int64 = 100_000_000_000

    /// As it is sent: `34646millis`, or milliseconds since 1970.
    package var text: String {
        switch self {
        case .lifetime(let milliseconds): "\(milliseconds)\(Self.unit)"
        case .instant(let milliseconds): "\(milliseconds)"
        }
    }

    /// Reads `34646millis`, or milliseconds since 1970 from 10^11 on; nil for anything else.
    public init?(_ text: String) {
        guard let lifetime = Self.lifetime(text.utf8) else {
            guard let instant = Self.number(text.utf8[...]), instant >= Self.firstInstant else { return nil }
            self = .instant(milliseconds: instant)
            return
        }
        self = .lifetime(milliseconds: lifetime)
    }

    /// The milliseconds of a text such as `34646millis`; nil for anything else.
    package static func lifetime(_ text: some BidirectionalCollection<UInt8>) -> Int64? {
        guard text.count > unit.utf8.count, text.suffix(unit.utf8.count).elementsEqual(unit.utf8) else { return nil }
        return number(text.dropLast(unit.utf8.count))
    }

    /// A number of ASCII digits alone.
    package static func number(_ digits: some Collection<UInt8>) -> Int64? {
        guard !digits.isEmpty, digits.count <= mostDigits else { return nil }
        var number: Int64 = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            number = number * 10 + Int64(digit - UInt8(ascii: "0"))
        }
        return number
    }
}
