import NotificationPayload

extension DispatchRecord {
    /// A field that a notification can be sent without (docs/rules.md §5.3).
    package enum MissingField: CaseIterable, Sendable {
        case orderID

        /// The value of the header.
        var name: StaticString {
            switch self {
            case .orderID: "order_id"
            }
        }
    }
}

extension DispatchRecord {
    /// What a push is about, as the header `event-type` says it.
    package enum NotificationType: Equatable, Sendable, CaseIterable {
        case order(EventType)
        /// Of a type that the settings declared: its name in the payload.
        case ownOrder(String)
        case request(RequestNotification.Content)
        case broadcast

        /// Those that have a name of their own.
        package static let allCases =
            EventType.allCases.map(Self.order) + RequestNotification.Content.allCases.map(Self.request) + [.broadcast]

        /// Nil for a text that no push is about.
        init?(_ text: UnsafeRawBufferPointer) {
            if let known = Self.allCases.first(where: { text.elementsEqual($0.rawValue.utf8) }) {
                self = known
                return
            }
            let prefix = "event_"
            guard text.count > prefix.utf8.count, text.starts(with: prefix.utf8) else { return nil }
            self = .ownOrder(String(decoding: text, as: UTF8.self))
        }

        package var rawValue: String {
            switch self {
            case .order(let type): type.rawValue
            case .ownOrder(let name): name
            case .request(let content): content.rawValue
            case .broadcast: "broadcast"
            }
        }
    }
}
