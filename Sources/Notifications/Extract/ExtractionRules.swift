import Foundation

/// The configuration of the extraction. The documents decide everything else.
public struct ExtractionRules: Sendable {
    /// What to do with an event that carries no order id (docs/rules.md §5.3 row 1). The raw value is the setting's.
    public enum MissingOrderID: String, CaseIterable, Sendable {
        /// Send it with an empty order id, marked as degraded.
        case send
        case deadLetter = "dead-letter"
    }

    /// Increase it when the same event gives another record than before. Part of the journal's hash of the rules.
    public static let version = 2

    /// The version of the time zone data, such as `2025b`. Part of the same hash.
    public static var timeZoneDataVersion: String { TimeZone.timeZoneDataVersion }

    public let timeZone: String
    /// Place id → IANA name, for places that differ from ``timeZone``.
    public let placeTimeZones: [String: String]
    public let onMissingOrderID: MissingOrderID
    /// Whether an order without an event type is a snapshot: a status that differs from the previous one is a status
    /// change.
    public let infersStatusChanges: Bool
    /// Whom events notify (docs/rules.md §5.4).
    public let audiences: AudienceTemplates
    /// What members of events are called beside their known names (docs/rules.md §5.6).
    public let members: MemberMapping
    /// The event types beside document 1's (docs/rules.md §5.7).
    public var types: EventTypes { audiences.types }
    let zones: PlaceZones

    /// - Throws: ``UnknownTimeZones`` with every name that is not a time zone.
    public init(
        timeZone: String = "UTC", placeTimeZones: [String: String] = [:], onMissingOrderID: MissingOrderID = .send,
        infersStatusChanges: Bool = false, audiences: AudienceTemplates = .place,
        members: MemberMapping = .none
    ) throws(UnknownTimeZones) {
        zones = try PlaceZones(standard: timeZone, places: placeTimeZones)
        self.timeZone = timeZone
        self.placeTimeZones = placeTimeZones
        self.onMissingOrderID = onMissingOrderID
        self.infersStatusChanges = infersStatusChanges
        self.audiences = audiences
        self.members = members
    }

    /// The instant, in seconds since 1970, at which the clock of a place shows this time.
    ///
    /// For a time skipped by a daylight-saving change, the next existing one; for a time that occurs twice, the first.
    ///
    /// - Parameters:
    ///   - date: in days since 1970.
    ///   - minute: since midnight.
    package func instant(date: Int32, minute: Int16, place: UnsafeRawBufferPointer) -> Int64 {
        zones.zone(of: place).instant(day: Int64(date), minute: Int64(minute))
    }
}
