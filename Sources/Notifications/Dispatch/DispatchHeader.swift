import NotificationPayload

/// The headers of a dispatch record, in the order in which they are written (docs/code.md §4). The only place for
/// their names: writers and readers take them from here.
package enum DispatchHeader: Int, CaseIterable, Sendable {
    /// The headers of every record. They come first, so that their raw values are their positions in a record.
    case messageID, platform, source, expiresAt, audience
    /// The headers that the setting `dispatch.headers` turns on.
    case eventType, app, orderID
    /// The id of the request, if it has one (docs/rules.md §8.1).
    case requestID
    /// The name of a field that is missing and was sent empty.
    case degraded
    /// The event's own header, if it has one of the form of ``Traceparent``.
    case traceparent
    /// The offset of the registrar's command by which the device was subscribed, where one has subscribed it.
    case command
    /// The id of the replay or re-drive that wrote the record, always its last header.
    case replay

    package var name: StaticString {
        switch self {
        case .messageID: "message-id"
        case .platform: "platform"
        case .source: "source"
        case .expiresAt: "expires-at"
        case .audience: "audience"
        case .eventType: "event-type"
        case .app: "app"
        case .orderID: "order-id"
        case .requestID: "request-id"
        case .degraded: "x-degraded"
        case .traceparent: Traceparent.name
        case .command: "command"
        case .replay: "replay"
        }
    }

    /// The name as static bytes, valid forever.
    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(name) }

    /// The name as a new string.
    package var text: String { name.description }

    package func matches(_ name: UnsafeRawBufferPointer) -> Bool { sameBytes(name, bytes) }
}
