/// Why a value cannot be used: what is allowed instead, as in `must be a duration from 1ms to 10s`.
struct InvalidValue: Error {
    var allowed: String
    /// What is wrong with the value, as in `cannot be read`; nil: it is just not allowed.
    var reason: String?
}

/// How values are written in files, environment and flags.
package enum ConfigurationText {
    private static let units: [(suffix: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    /// `50ms`, `30s`, `5m`, `12h`, `270d`; whole numbers with a unit. nil where it is none of these.
    package static func duration(_ text: String) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int64(digits), let unit = units.first(where: { $0.suffix == text.dropFirst(digits.count) })
        else { return nil }
        let (milliseconds, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
        return overflow ? nil : .milliseconds(milliseconds)
    }

    /// In the largest unit that gives a whole number.
    package static func text(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1_000 + attoseconds / 1_000_000_000_000_000
        let unit = units.last { milliseconds % $0.milliseconds == 0 && milliseconds >= $0.milliseconds } ?? units[0]
        return "\(milliseconds / unit.milliseconds)\(unit.suffix)"
    }

    static func boolean(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "true": true
        case "false": false
        default: nil
        }
    }

    /// What may be a part of a group's, a member's and a folder's name, as Kafka's own names of topics: letters, digits,
    /// `.`, `_` and `-`, at most 200, and not `.` or `..`.
    static func isName(_ text: String) -> Bool {
        (1...200).contains(text.utf8.count) && text != "." && text != ".."
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}
