/// What a notification says that was asked for by a request (docs/rules.md §8). Its texts are in the batch that holds it.
///
/// Every text is the inside of a JSON string, escaped, except where it says otherwise; nil where there is none.
public struct RequestNotification: Sendable {
    /// What the request carries; the value of the header `event-type`.
    public enum Content: String, CaseIterable, Sendable {
        /// Document 2.
        case app
        /// Document 5.
        case message
    }

    public enum Priority: Sendable {
        case high, normal
    }

    /// The audiences, in the order of the request: positions in ``EventBatch/audiences``.
    public var audiences: Range<Int>
    /// The header `request-id`, not escaped (docs/rules.md §8.1).
    package var id: TextRange?
    /// The header `expires-at` (docs/rules.md §8.3).
    public var expiresAt: WallTime
    /// The expiry that FCM's message gets: ``expiresAt``, or another one with `requests.compat-ignore-valid-until`.
    package var fcmExpiresAt: WallTime
    package var isSilent = false
    package var priority = Priority.high
    /// At most 64 bytes (docs/rules.md §8.5).
    package var collapseKey: TextRange?

    package var title: TextRange?
    package var body: TextRange?
    package var image: TextRange?
    package var clickAction: TextRange?
    package var sound: TextRange?
    package var icon: TextRange?
    package var category: TextRange?
    package var badge: Int32?
    package var titleKey: TextRange?
    /// A JSON array of strings.
    package var titleArguments: TextRange?
    package var bodyKey: TextRange?
    /// A JSON array of strings.
    package var bodyArguments: TextRange?

    /// The members of FCM's `data` with `message_id`: `"k":"v","message_id":"…"`, never empty.
    package var data: TextRange
    /// The members beside `aps` in an APNs payload, with `message_id`; never empty.
    package var custom: TextRange
    /// What FCM counts (docs/rules.md §1.3): the bytes of keys and values of `data`, before they are escaped.
    package var dataSize = 0
    /// What FCM counts of title, body and image with the names of their members.
    package var notificationSize = 0
}
