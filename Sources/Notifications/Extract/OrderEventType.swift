import NotificationPayload

/// What an event says of an order: a type of document 1, or one that the settings declare (docs/rules.md §5.7).
public enum OrderEventType: Equatable, Sendable {
    case known(EventType)
    case own(OwnEventType)

    /// What a payload carries in `event_type`.
    public var rawValue: String {
        switch self {
        case .known(let type): type.rawValue
        case .own(let type): String(decoding: type.name, as: UTF8.self)
        }
    }
}

/// An event type that the settings declare (docs/rules.md §5.7). A notification carries it without a reference.
///
/// `@unchecked Sendable`: the bytes of the name never change and are never freed; see ``LastingText``.
public struct OwnEventType: Equatable, @unchecked Sendable {
    /// Whether an event of it needs an order's id. The raw value is the setting's.
    public enum Order: String, CaseIterable, Sendable {
        /// As for the types of document 1 (docs/rules.md §5.3 row 1).
        case required
        /// Without an id it is sent with an empty one, and is not degraded.
        case optional
    }

    /// What it changes of what is remembered of its order. The raw value is the setting's.
    public enum State: String, CaseIterable, Sendable {
        case unchanged
        /// The fields of its order count as those of ORDER_CREATED do.
        case kept
    }

    /// Its index among those that the settings declare.
    package let position: Int
    /// What a payload carries in `event_type`: `event_order_delayed`.
    package let name: UnsafeRawBufferPointer
    public let order: Order
    public let state: State

    /// - Parameter name: without `event_`.
    package init(_ name: String, at position: Int, order: Order, state: State) {
        self.name = LastingText.bytes(of: "event_\(name)")
        self.position = position
        self.order = order
        self.state = state
    }

    public static func == (left: Self, right: Self) -> Bool {
        left.position == right.position && left.order == right.order && left.state == right.state
            && sameBytes(left.name, right.name)
    }
}

extension ByteWriter {
    /// Appends what a payload carries in `event_type`.
    package mutating func append(_ type: OrderEventType) {
        switch type {
        case .known(let type): append(type.rawValue)
        case .own(let type): append(type.name)
        }
    }
}
