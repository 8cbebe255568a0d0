/// What a push means to the app: one typed value, whichever provider brought it.
///
/// The kinds are told apart by the names of the data, in this order:
///
/// 1. `default`: an order (document 1, "Base Payload Structure");
/// 2. `event_type`: an order in document 1's legacy flat form;
/// 3. `actiontype` and `notificationid`: a broadcast (document 4);
/// 4. `type`: an app notification (document 2);
/// 5. anything else that has content: a message (document 5).
///
/// An order of 1 or 2 whose `event_type` begins with `event_` and is none of document 1's is of another type.
///
/// An empty string counts as absent, as in document 1's own handler. No input traps.
public enum ReceivedNotification: Hashable, Sendable {
    case order(OrderNotification)
    /// An order, of an event type that the sender's settings declare.
    case other(OtherNotification)
    case app(AppNotification)
    case message(PushMessage)
    case broadcast(Broadcast)
    /// What is of no known kind, as it came.
    case unknown(UnknownNotification)

    /// By this id an app recognises a repeat: ``Deduplicator``. A broadcast that is sent again keeps its
    /// `notificationid`, which counts where it has no `message_id`.
    public var messageID: String? {
        switch self {
        case .order(let order): order.messageID
        case .other(let other): other.order.messageID
        case .app(let notification): notification.messageID
        case .message(let message): message.messageID
        case .broadcast(let broadcast): broadcast.messageID ?? broadcast.notificationID
        case .unknown: nil
        }
    }

    /// The keys of the deep link. Of an order those at the root count, not those inside `default` (docs/rules.md §5.5).
    public var deepLinkKeys: DeepLinkKeys? {
        switch self {
        case .order(let order): order.deepLinkKeys
        case .other(let other): other.order.deepLinkKeys
        case .app(let notification): DeepLinkKeys(notification.data.mapValues(PushValue.string))
        case .message(let message): DeepLinkKeys(message.extras)
        case .broadcast(let broadcast): DeepLinkKeys(broadcast.data.mapValues(PushValue.string))
        case .unknown: nil
        }
    }

    /// The URL that a tap opens; nil if the push has no keys for one, or if their type of order has no template.
    public func deepLink(_ links: DeepLinks) -> String? {
        deepLinkKeys.flatMap { links.url(for: $0) }
    }
}
