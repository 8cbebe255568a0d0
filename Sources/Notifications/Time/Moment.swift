/// The content of an order's date or time value, before a time zone is applied (docs/rules.md §5.2).
package enum Moment: Equatable {
    /// `2025-07-07`: no time.
    case date(CivilDate)
    /// `14:00`: no date.
    case time(ClockTime)
    /// `2025-07-07T14:00`: the local time of the place, unchanged.
    case local(CivilDate, millisecondsOfDay: Int32)
    /// A time with an offset or `Z`, or a number of seconds or milliseconds since 1970.
    case instant(WallTime)
    /// 24:00 of a day, only valid as the end of a slot: 23:59 of that day (docs/rules.md §5.2).
    case endOfDay
    /// The same with an offset: the instant of that 23:59.
    case endOfDayInstant(WallTime)

    /// The local date in a zone.
    package func date(in zone: TimeZoneTable) -> CivilDate? {
        switch self {
        case .date(let date), .local(let date, _): date
        case .instant(let instant): zone.wallClock(at: instant)?.date
        case .time, .endOfDay, .endOfDayInstant: nil
        }
    }

    /// The local time in a zone, as the start of a slot.
    package func start(in zone: TimeZoneTable) -> ClockTime? {
        switch self {
        case .time(let time): time
        case .local(_, let milliseconds): ClockTime(minutes: Int(milliseconds) / 60_000)
        case .instant(let instant): zone.wallClock(at: instant)?.time
        case .date, .endOfDay, .endOfDayInstant: nil
        }
    }

    /// The local time in a zone, as the end of a slot.
    package func end(in zone: TimeZoneTable) -> ClockTime? {
        switch self {
        case .endOfDay: .lastMinute
        case .endOfDayInstant(let instant): zone.wallClock(at: instant)?.time
        case .date, .time, .local, .instant: start(in: zone)
        }
    }

    /// An event time, which has no place: without an offset it is taken as UTC. Nil without both date and time, for
    /// 24:00, and outside 1970–9999.
    package var eventTime: WallTime? {
        switch self {
        case .local(let date, let milliseconds):
            WallTime(milliseconds: Int64(date.daysSinceEpoch) * 86_400_000 + Int64(milliseconds)).validated
        case .instant(let instant):
            instant.validated
        case .date, .time, .endOfDay, .endOfDayInstant:
            nil
        }
    }
}

extension WallTime {
    /// The last millisecond of the year 9999.
    package static let latest = WallTime(milliseconds: 253_402_300_799_999)

    /// Nil outside 1970–9999: a message id has no sign, and a payload's year has four digits.
    package var validated: WallTime? { (.epoch ... .latest).contains(self) ? self : nil }
}
