import Foundation

/// A time zone as a sorted list of its offsets from 1970 to 2100, so that a conversion is a binary search.
///
/// Immutable and without Foundation once it is made: 15 ns instead of 70 to 250 a conversion, and no lock. Before 1970
/// the first offset holds, after 2100 the last.
final class TimeZoneTable: Sendable {
    /// Seconds since 1970 at which each offset begins; the first one holds from ever.
    private let starts: [Int64]
    /// Seconds east of Greenwich.
    private let offsets: [Int32]

    static let utc = TimeZoneTable()

    private init() {
        starts = [.min]
        offsets = [0]
    }

    /// Lists the transitions of a zone. Nil where there is no zone of this name.
    init?(identifier: String) {
        guard !identifier.isEmpty, let zone = TimeZone(identifier: identifier) else { return nil }
        let end = Date(timeIntervalSince1970: 4_102_444_800)
        var date = Date(timeIntervalSince1970: 0)
        var starts: [Int64] = [.min]
        var offsets = [Int32(zone.secondsFromGMT(for: date))]
        while let next = zone.nextDaylightSavingTimeTransition(after: date), next > date, next < end {
            date = next
            let offset = Int32(zone.secondsFromGMT(for: next))
            if offset != offsets[offsets.count - 1] {
                starts.append(Int64(next.timeIntervalSince1970.rounded(.down)))
                offsets.append(offset)
            }
        }
        self.starts = starts
        self.offsets = offsets
    }

    /// Seconds east of Greenwich at an instant, in seconds since 1970.
    func offset(at seconds: Int64) -> Int {
        var low = 0
        var high = starts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= seconds {
                low = middle
            } else {
                high = middle
            }
        }
        return Int(offsets[low])
    }

    /// What the clock on the wall shows at an instant, in milliseconds since 1970. Nil outside years 1 to 9999.
    func wallClock(at milliseconds: Int64) -> (date: CivilDate, time: ClockTime)? {
        let seconds = milliseconds >= 0 ? milliseconds / 1000 : (milliseconds - 999) / 1000
        let local = Int(seconds) + offset(at: seconds)
        let days = local >= 0 ? local / 86_400 : (local - 86_399) / 86_400
        guard let date = CivilDate(daysSinceEpoch: days) else { return nil }
        return (date, ClockTime(minutes: (local - days * 86_400) / 60))
    }
}
