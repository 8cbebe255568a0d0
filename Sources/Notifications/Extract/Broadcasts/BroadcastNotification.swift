import NotificationPayload

/// What a record of `notifications.broadcasts` says, after all checks (docs/rules.md §14). Owns its texts.
package struct BroadcastNotification: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        /// With each language once, and at least one.
        case display(Broadcast.Display)
        case nonDisplay(Broadcast.NonDisplay)
    }

    /// The key of its record: a later record with it replaces this one.
    package var notificationID: String
    /// The same for all of its devices; another one if it is published again at another time.
    package var messageID: String
    /// `channel/<id>`.
    package var audience: String
    /// As the record has it, for the app; nil if it has none.
    package var channel: String?
    package var publishedAt: WallTime
    package var expiry: Broadcast.Expiry
    package var content: Content

    /// From then on it is no longer worth delivering; at most ``longestValidity`` after ``publishedAt``.
    package var expiresAt: WallTime {
        switch expiry {
        case .lifetime(let milliseconds): publishedAt + milliseconds
        case .instant(let milliseconds): WallTime(milliseconds: milliseconds)
        }
    }

    /// 28 days, in milliseconds: what FCM keeps a message for (docs/rules.md §1.2).
    package static let longestValidity: Int64 = 2_419_200_000
    /// The most languages of one broadcast.
    package static let mostLanguages = 100
    /// The longest language tag, in bytes (RFC 5646 §4.4.1).
    package static let longestLanguage = 35
}

/// What a record of `notifications.broadcasts` does.
package enum BroadcastOutcome: Equatable, Sendable {
    /// It publishes a broadcast, in the place of an earlier one with its id.
    case published(BroadcastNotification)
    /// A null value: the broadcast with this id is not to be sent any more.
    case cancelled(String)
    case deadLetter(DeadLetter)
}
