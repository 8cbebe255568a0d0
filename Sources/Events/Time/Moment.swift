/// What a date or time value of an order says, before a time zone is applied (push-rules §5.2).
package enum Moment: Equatable {
    /// `2025-07-07`: no time.
    case date(CivilDate)
    /// `14:00`: no date.
    case time(ClockTime)
    /// `2025-07-07T14:00`: the wall clock of the place, taken as it stands.
    case local(CivilDate, millisecondsOfDay: Int32)
    /// With an offset, `Z`, or a number since 1970: milliseconds since then.
    case instant(Int64)
    /// A day's 24:00, which is the end of a slot and nothing else: 23:59 of that day (push-rules §5.2).
    case endOfDay
    /// The same with an offset: milliseconds since 1970 of that 23:59.
    case endOfDayInstant(Int64)

    /// The date of the wall clock in a zone.
    package func date(in zone: TimeZoneTable) -> CivilDate? {
        switch self {
        case .date(let date), .local(let date, _): date
        case .instant(let milliseconds): zone.wallClock(at: milliseconds)?.date
        case .time, .endOfDay, .endOfDayInstant: nil
        }
    }

    /// The time of the wall clock in a zone, as the start of a slot.
    package func start(in zone: TimeZoneTable) -> ClockTime? {
        switch self {
        case .time(let time): time
        case .local(_, let milliseconds): ClockTime(minutes: Int(milliseconds) / 60_000)
        case .instant(let milliseconds): zone.wallClock(at: milliseconds)?.time
        case .date, .endOfDay, .endOfDayInstant: nil
        }
    }

    /// The time of the wall clock in a zone, as the end of a slot.
    package func end(in zone: TimeZoneTable) -> ClockTime? {
        switch self {
        case .endOfDay: .lastMinute
        case .endOfDayInstant(let milliseconds): zone.wallClock(at: milliseconds)?.time
        case .date, .time, .local, .instant: start(in: zone)
        }
    }

    /// As an event time, which has no place: without an offset it counts as UTC. Nil without both date and time, for 24:00,
    /// and outside 1970–9999.
    package var eventTime: EventTime? {
        switch self {
        case .local(let date, let milliseconds):
            EventTime(validating: Int64(date.daysSinceEpoch) * 86_400_000 + Int64(milliseconds))
        case .instant(let milliseconds):
            EventTime(validating: milliseconds)
        case .date, .time, .endOfDay, .endOfDayInstant:
            nil
        }
    }
}

extension EventTime {
    /// Nil outside 1970–9999: a message id has no sign, and a payload's year four digits.
    package init?(validating milliseconds: Int64) {
        guard (0...253_402_300_799_999).contains(milliseconds) else { return nil }
        self.init(milliseconds: milliseconds)
    }
}
