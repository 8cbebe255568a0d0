/// Names in the configuration that are not time zones.
public struct UnknownTimeZones: Error, Equatable, Sendable, CustomStringConvertible {
    /// The default zone, if its name is not a time zone.
    public var timeZone: String?
    /// Place id → name, for the names that are not time zones.
    public var placeTimeZones: [String: String] = [:]

    public var description: String {
        var sentences: [String] = []
        if let timeZone {
            sentences.append("\"\(timeZone)\" is not a time zone")
        }
        for (place, name) in placeTimeZones.sorted(by: { $0.key < $1.key }) {
            sentences.append("\"\(name)\" of place \(place) is not a time zone")
        }
        return sentences.joined(separator: "; ") + " (IANA names such as Europe/Berlin are)"
    }
}
