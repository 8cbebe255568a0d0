/// One notification before its recipients are known. Its texts are in the batch that holds it.
public struct Notification: Sendable {
    /// The index of its record in the batch.
    public var record: Int
    /// The time of the event; expiry and staleness count from it.
    public var eventTime: WallTime
    public var messageID: TextRange
    /// What the app gets, as the inside of the JSON string that carries it; ``EventBatch/payload(of:)`` is the string
    /// itself.
    @usableFromInline package var payload: TextRange
    /// The size of that string, in bytes: what FCM counts (docs/rules.md §1.3).
    @usableFromInline package var payloadSize: Int
    public var kind: Kind

    /// What it is about.
    public enum Kind: Sendable {
        case order(Order)
        /// With the index of what it says in ``EventBatch/requests``: it is much larger than an order's.
        case request(RequestNotification.Content, index: Int)
    }
}

extension Notification {
    /// The type as it is written in the payload and in the header `event-type`, such as `event_order_created`.
    package var type: String {
        switch kind {
        case .order(let order): order.eventType.rawValue
        case .request(let content, _): content.rawValue
        }
    }

    /// Which source supplied each field; nil where no field has a choice of sources.
    package var fieldSources: FieldSources? {
        switch kind {
        case .order(let order): order.sources
        case .request: nil
        }
    }
}
