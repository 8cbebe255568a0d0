import JSONReader

extension WallTime {
    /// A JSON value as an event time, by the rules of `occurred_at` (docs/rules.md §5.2): ISO 8601 with an offset or
    /// `Z`, UTC without one, or seconds or milliseconds since 1970. Nil for anything else; a date that does not exist
    /// does not roll over.
    package init?(_ value: JSONValue) {
        guard let time = Moment(value)?.eventTime else { return nil }
        self = time
    }
}

extension JSONValue {
    /// A whole number of milliseconds as a time, as journals have it; nil for anything else.
    package var time: WallTime? { integer.map(WallTime.init(milliseconds:)) }
}
