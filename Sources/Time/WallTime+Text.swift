extension WallTime: CustomStringConvertible, Encodable {
    public var description: String { iso8601 }

    /// `2025-07-07T14:00:00.000Z`; the number with its unit outside the years 1 to 9999.
    public var iso8601: String {
        let millisecondsADay: Int64 = 86_400_000
        let rest = milliseconds % millisecondsADay
        let ofDay = Int(rest < 0 ? rest + millisecondsADay : rest)
        // Divided before it is rounded down: subtracting first could overflow.
        let days = Int(milliseconds / millisecondsADay) - (rest < 0 ? 1 : 0)
        guard let date = CivilDate(daysSinceEpoch: days) else { return "\(milliseconds) ms since 1970" }
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

    /// As ``iso8601``.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(iso8601)
    }

    private static func write(_ number: Int, _ width: Int, to buffer: UnsafeMutablePointer<UInt8>) {
        var rest = number
        for index in stride(from: width - 1, through: 0, by: -1) {
            buffer[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }
}
