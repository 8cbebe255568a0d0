import JSONReader

extension EventTime {
    /// A JSON value as an event time, by the rules of `occurred_at` (docs/rules.md §5.2): ISO 8601 with an offset or
    /// `Z`, UTC without one, or seconds or milliseconds since 1970. Nil for anything else; a date that does not exist
    /// does not roll over.
    package init?(_ value: JSONValue) {
        guard let time = Moment(value)?.eventTime else { return nil }
        self = time
    }

    /// `2025-07-07T14:00:00.000Z`. Nil outside years 1 to 9999.
    package var iso8601: String? {
        let millisecondsADay: Int64 = 86_400_000
        let rest = milliseconds % millisecondsADay
        let ofDay = Int(rest < 0 ? rest + millisecondsADay : rest)
        let days = Int((milliseconds - Int64(ofDay)) / millisecondsADay)
        guard let date = CivilDate(daysSinceEpoch: days) else { return nil }
        return String(unsafeUninitializedCapacity: 24) { buffer in
            guard let base = buffer.baseAddress else { return 0 }
            _ = date.write(to: base)
            buffer[10] = UInt8(ascii: "T")
            Self.write(ofDay / 3_600_000, 2, to: base + 11)
            buffer[13] = UInt8(ascii: ":")
            Self.write(ofDay / 60_000 % 60, 2, to: base + 14)
            buffer[16] = UInt8(ascii: ":")
            Self.write(ofDay / 1_000 % 60, 2, to: base + 17)
            buffer[19] = UInt8(ascii: ".")
            Self.write(ofDay % 1_000, 3, to: base + 20)
            buffer[23] = UInt8(ascii: "Z")
            return 24
        }
    }

    private static func write(_ number: Int, _ width: Int, to buffer: UnsafeMutablePointer<UInt8>) {
        var rest = number
        for place in stride(from: width - 1, through: 0, by: -1) {
            buffer[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }
}
