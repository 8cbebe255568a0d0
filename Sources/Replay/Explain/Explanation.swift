import NotificationPayload
import Notifications

/// What became of one event, request or timer, and why.
package struct Explanation: Equatable, Sendable {
    /// What to explain.
    package enum Subject: Equatable, Sendable {
        /// Everything that the filter selects.
        case events
        case message(id: String)
        /// A device, by the SHA-256 of its token in hex.
        case device(tokenHash: String)
    }

    package enum Outcome: Equatable, Sendable {
        case sent
        /// An event that notifies nobody.
        case notSent(SuppressionReason)
        /// A timer that is not sent.
        case dropped(TimerDrop)
        case deadLetter(DeadLetter)
        /// Its pushes, listed in the explanation, were rejected by the broker.
        case refused(Refusals.Refusal)
    }

    /// A record that it produced.
    package struct Push: Equatable, Sendable {
        package var messageID: String
        /// The SHA-256 of the device's token.
        package var device: String
        /// Its positions in the dispatch topic; empty if it is not there.
        package var positions: [Coordinates]
        /// The positions of the copies that re-drives sent.
        package var redriven: [Redriven] = []
        /// What became of its records and of their copies at the provider, by position; nil: not known.
        package var outcomes: [Coordinates: DeliveryRecord]?
        /// What its phone has said of it, and when by the phone's clock.
        package var receipts: [Receipt.Kind: WallTime] = [:]
        /// From which the app makes the URL that a tap opens; nil if it has none (docs/rules.md §5.5).
        package var deepLink: DeepLinkKeys?

        /// With those of the copies, in the order in which they are told.
        package var allPositions: [Coordinates] { positions + redriven.map(\.position) }
    }

    /// A record that a re-drive has sent.
    package struct Redriven: Equatable, Sendable {
        package var id: String
        package var position: Coordinates
    }

    /// The subscription of the device in question, in the table that the transaction used.
    package enum Subscribed: Equatable, Sendable {
        case yes
        case never
        /// Not yet: it subscribed at this time.
        case notUntil(WallTime)
        /// No longer: it unsubscribed at this time.
        case notSince(WallTime)
        /// Subscribed, but last seen too long ago.
        case stale(lastSeen: WallTime)
    }

    package var event: EventCoordinates
    /// For a timer, the offset that its partition had reached.
    package var isTimer: Bool
    /// Of the record, or the due time of the timer.
    package var time: WallTime?
    package var order: String?
    package var reading = EventReading()
    package var outcome: Outcome?
    /// The position of the dead letter of an event or a request; nil if there is none, or it is not known where.
    package var deadLetter: Coordinates?
    /// Only those of the device in question, if there is one.
    package var pushes: [Push] = []
    package var devices = 0
    package var sources: [String: String] = [:]
    package var subscribed: Subscribed?
    /// Timers cancelled by this event, by reason.
    package var settled: [TimerDrop: Int] = [:]
    /// How many of the event's pushes re-drives have sent, by their ids, to any device.
    package var redrives: [String: Int] = [:]
    package var step: JournalStep?
}
