import Notifications

/// Why a device got a broadcast, or did not: the label, which can be looked up and counted, and what it means.
extension BroadcastTrace.Fate {
    package var label: String {
        switch self {
        case .sent: "sent"
        case .sentLate: "sent_late"
        case .notSubscribed: "not_subscribed"
        case .left: "left"
        case .stale: "stale"
        case .waiting: "waiting"
        case .notReached: "not_reached"
        case .ended(let end, _): end.rawValue
        case .skipped(let reason): reason.rawValue
        case .passed: "passed"
        case .joiningNotRead: "joining_not_read"
        case .joinedAfterExpiry: "joined_after_expiry"
        case .joinedAfterEnd: "joined_after_end"
        case .rotated: "rotated"
        case .beyondMostLate: "beyond_max_late"
        }
    }

    package var sentence: String {
        switch self {
        case .sent(let clock): "sent in the transaction of \(clock.iso8601)"
        case .sentLate(let clock): "sent when it joined, in the transaction of \(clock.iso8601)"
        case .notSubscribed: "not sent: it was not subscribed to the channel when the pass began, nor later"
        case .left(let clock):
            "not sent by the pass: it had unsubscribed when the pass came to it, \(clock.iso8601)"
        case .stale(let seen): "not sent: last seen at \(seen.iso8601), longer ago than subscriptions.max-age"
        case .waiting: "not sent yet: the pass over its partition has not begun"
        case .notReached: "not sent yet: the pass over its partition is under way, and has not come to it"
        case .ended(.cancelled, let clock):
            "not sent: it was cancelled or replaced before the pass came to it, \(clock.iso8601)"
        case .ended(.expired, let clock): "not sent: it expired before the pass came to it, \(clock.iso8601)"
        case .ended(.failed, _), .skipped(.deadLetter): "not sent: it is a dead letter"
        case .ended(.done, _): "not sent: the pass ended before"
        case .skipped(.expired): "not sent: it had expired before its pass could begin"
        case .passed: "not sent: it was cancelled before its turn, or 'carillon broadcasts' began after it"
        case .joiningNotRead: "not sent yet: it joined after the pass had begun, and that is not read yet"
        case .joinedAfterExpiry(let clock):
            "not sent: it had expired when its joining was read, \(clock.iso8601)"
        case .joinedAfterEnd(let clock):
            "not sent: it was cancelled or replaced when its joining was read, \(clock.iso8601)"
        case .rotated(let clock):
            "not sent: its token took the place of another one, and the pass over its partition was over when that was "
                + "read, \(clock.iso8601)"
        case .beyondMostLate(let clock):
            "not sent: broadcasts.max-late newer ones were valid when its joining was read, \(clock.iso8601)"
        }
    }
}
