// Minimal shapes of what branches core, fanout and kafka bring; this file goes when they are merged.
public typealias Settings = [String: String]

public struct ExtractionRules: Sendable {
    public enum MissingOrderID: String, CaseIterable, Sendable {
        case send
        case deadLetter = "dead-letter"
    }

    public init(
        timeZone: String = "UTC", placeTimeZones: [String: String] = [:], onMissingOrderID: MissingOrderID = .send
    ) throws {}
}

public struct RenderSettings: Sendable {
    public enum AndroidPriority: String, CaseIterable, Sendable { case high, normal }
    public enum OptionalHeader: String, CaseIterable, Sendable {
        case eventType = "event-type"
        case audience
        case orderID = "order-id"
    }

    public var timeToLive: Duration = .seconds(3_600)
    public var androidPriority: AndroidPriority = .high
    public var optionalHeaders: Set<OptionalHeader> = []

    public init() {}
}
