import Events
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
        case request(RequestNotification.Content)
        case broadcast

        package static let allCases =
            EventType.allCases.map(Self.order) + RequestNotification.Content.allCases.map(Self.request) + [.broadcast]

        package var rawValue: String {
            switch self {
            case .order(let type): type.rawValue
            case .request(let content): content.rawValue
            case .broadcast: "broadcast"
            }
        }
    }
}
