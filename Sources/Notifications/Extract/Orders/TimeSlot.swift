import JSONReader

/// A delivery slot in the local time of its place. A start after the end crosses midnight, and stays unchanged.
struct TimeSlot: Equatable {
    let start: ClockTime
    let end: ClockTime
    /// A source named the start: it is not the fallback of a slot with only an end.
    let hasStart: Bool

    /// Document 1's fallback, also used for each missing bound.
    static let fallback = TimeSlot(start: .midnight, end: .lastMinute, hasStart: false)

    private init(start: ClockTime, end: ClockTime, hasStart: Bool) {
        self.start = start
        self.end = end
        self.hasStart = hasStart
    }

    /// A slot from one source: nil without a valid bound; a missing bound is 00:00 or 23:59. Bounds of two sources are
    /// never mixed (docs/rules.md §5.2, "Partial slots").
    init?(start: Moment?, end: Moment?, in zone: TimeZoneTable) {
        self.init(from: start?.start(in: zone), to: end?.end(in: zone))
    }

    private init?(from first: ClockTime?, to last: ClockTime?) {
        guard first != nil || last != nil else { return nil }
        self.start = first ?? .midnight
        self.end = last ?? .lastMinute
        hasStart = first != nil
    }

    private init?(start: JSONValue?, end: JSONValue?, in zone: TimeZoneTable) {
        self.init(start: start.flatMap(Moment.init), end: end.flatMap(Moment.init), in: zone)
    }

    /// Each bound is the first time among its values.
    init?(start: MemberValues, end: MemberValues, in zone: TimeZoneTable) {
        self.init(
            from: start.firstValid { Moment($0)?.start(in: zone) }, to: end.firstValid { Moment($0)?.end(in: zone) })
    }

    /// The first value that is a slot in the Drone API's form.
    init?(timeSlots values: MemberValues, in zone: TimeZoneTable) {
        guard let slot = values.firstValid({ TimeSlot(timeSlot: $0, in: zone) }) else { return nil }
        self = slot
    }

    /// The Drone API's `time_slot`: a text, an object or an array.
    private init?(timeSlot value: JSONValue, in zone: TimeZoneTable) {
        if let text = value.string {
            self.init(text: text.bytes.trimmed, in: zone)
        } else if value.isObject {
            self.init(object: value, in: zone)
        } else if value.isArray {
            self.init(array: value, in: zone)
        } else {
            self.init(start: Moment(value), end: nil, in: zone)
        }
    }

    /// `{start,end}`, `{start_time,end_time}` or `{from,to}`, the first pair with a valid bound.
    private init?(object: JSONValue, in zone: TimeZoneTable) {
        var start: JSONValue?
        var end: JSONValue?
        var startTime: JSONValue?
        var endTime: JSONValue?
        var from: JSONValue?
        var to: JSONValue?
        var cursor = object.members
        while let (name, value) = cursor.next() {
            switch name.count {
            case 2 where name == "to": to = value
            case 3 where name == "end": end = value
            case 4 where name == "from": from = value
            case 5 where name == "start": start = value
            case 8 where name == "end_time": endTime = value
            case 10 where name == "start_time": startTime = value
            default: break
            }
        }
        guard
            let slot = TimeSlot(start: start, end: end, in: zone) ?? TimeSlot(start: startTime, end: endTime, in: zone)
                ?? TimeSlot(start: from, end: to, in: zone)
        else { return nil }
        self = slot
    }

    /// An array of two, or of one, which is the start.
    private init?(array: JSONValue, in zone: TimeZoneTable) {
        var elements = array.elements
        let start = elements.next()
        let end = elements.next()
        guard elements.next() == nil else { return nil }
        self.init(start: start, end: end, in: zone)
    }
}
