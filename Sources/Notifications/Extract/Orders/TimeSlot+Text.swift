extension TimeSlot {
    /// Two times and a separator; or one time, which is the start.
    init?(text: UnsafeRawBufferPointer, in zone: TimeZoneTable) {
        guard text.count <= 2 * Moment.maxCount else { return nil }
        if let moment = Moment(text) {
            self.init(start: moment, end: nil, in: zone)
            return
        }
        // A date itself has hyphens, so every separator is tried until there is a time on both sides.
        for index in 0..<text.count {
            guard let width = Self.separatorWidth(in: text, at: index) else { continue }
            let left = UnsafeRawBufferPointer(rebasing: text[..<index]).trimmed
            let right = UnsafeRawBufferPointer(rebasing: text[(index + width)...]).trimmed
            if let slot = TimeSlot(left, right, in: zone) {
                self = slot
                return
            }
        }
        return nil
    }

    /// The length of the separator that begins here: `-`, `/`, an en or em dash, or `to`, ignoring case.
    private static func separatorWidth(in text: UnsafeRawBufferPointer, at index: Int) -> Int? {
        switch text[index] {
        case UInt8(ascii: "-"), UInt8(ascii: "/"):
            return 1
        case 0xE2 where index + 2 < text.count && text[index + 1] == 0x80 && (0x93...0x94).contains(text[index + 2]):
            return 3
        case UInt8(ascii: "t"), UInt8(ascii: "T"):
            return index + 1 < text.count && text[index + 1] | 0x20 == UInt8(ascii: "o") ? 2 : nil
        default:
            return nil
        }
    }

    /// Nil unless both are times.
    private init?(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer, in zone: TimeZoneTable) {
        guard let end = Moment(right) else { return nil }
        if let reading = ClockReading(right), case .time(let last) = end,
            let first = Self.start(left, sharing: reading.meridiem, until: last)
        {
            self.init(start: first, end: end, in: zone)
            return
        }
        guard let start = Moment(left), start.start(in: zone) != nil, end.end(in: zone) != nil else { return nil }
        self.init(start: start, end: end, in: zone)
    }

    /// `2-4 PM` shares the meridiem; the start takes the other half of the day if it would exceed the end, so that
    /// `10-12 PM` is 10:00 to 12:00. Nil if there is no meridiem to share.
    private static func start(
        _ left: UnsafeRawBufferPointer, sharing meridiem: ClockReading.Meridiem?, until end: ClockTime
    ) -> Moment? {
        guard let meridiem, var reading = ClockReading(left), reading.meridiem == nil,
            (1...12).contains(reading.hour)
        else { return nil }
        reading.meridiem = meridiem
        guard case .time(let shared)? = Moment(reading) else { return nil }
        if shared > end {
            reading.meridiem = meridiem == .pm ? .am : .pm
            return Moment(reading) ?? .time(shared)
        }
        return .time(shared)
    }
}
