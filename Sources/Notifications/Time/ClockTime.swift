/// A local time of day to the minute, 00:00 to 23:59.
package struct ClockTime: Equatable, Comparable {
    private let minuteOfDay: Int16

    /// Since midnight.
    package var minutes: Int { Int(minuteOfDay) }

    package static let midnight = ClockTime(minutes: 0)
    package static let lastMinute = ClockTime(minutes: 1439)

    /// - Parameter minutes: since midnight, below 1440.
    package init(minutes: Int) {
        minuteOfDay = Int16(truncatingIfNeeded: minutes)
    }

    /// Nil outside 0–23 and 0–59.
    init?(hour: Int, minute: Int) {
        guard (0...23).contains(hour), (0...59).contains(minute) else { return nil }
        self.init(minutes: hour * 60 + minute)
    }

    package static func < (left: ClockTime, right: ClockTime) -> Bool {
        left.minutes < right.minutes
    }

    /// Writes `HH:MM` and returns its length.
    package func write(to buffer: UnsafeMutablePointer<UInt8>) -> Int {
        let zero = UInt8(ascii: "0")
        buffer[0] = zero + UInt8(truncatingIfNeeded: minutes / 600)
        buffer[1] = zero + UInt8(truncatingIfNeeded: minutes / 60 % 10)
        buffer[2] = UInt8(ascii: ":")
        buffer[3] = zero + UInt8(truncatingIfNeeded: minutes % 60 / 10)
        buffer[4] = zero + UInt8(truncatingIfNeeded: minutes % 10)
        return 5
    }
}
