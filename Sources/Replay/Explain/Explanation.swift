import Events
import OrderState
import Pipeline

/// What became of one event or timer, and why.
package struct Explanation: Equatable, Sendable {
    /// What is asked about.
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
        /// It gives the pushes that are told, and the broker took none of them.
        case refused(Refusals.Refusal)
    }

    /// A record that it gives.
    package struct Push: Equatable, Sendable {
        package var messageID: String
        /// The SHA-256 of the device's token.
        package var device: String
        /// Where it stands in the dispatch topic; empty where it does not.
        package var places: [Coordinates]
        /// Where re-drives have put it.
        package var redriven: [Redriven] = []
    }

    /// A record that a re-drive has sent.
    package struct Redriven: Equatable, Sendable {
        package var id: String
        package var place: Coordinates
    }

    /// The subscription of the device that is asked about, in the table that the transaction saw.
    package enum Subscribed: Equatable, Sendable {
        case yes
        case never
        /// Not yet: it subscribed at this time, in milliseconds since 1970.
        case notUntil(Int64)
        /// No longer: it unsubscribed at this time.
        case notSince(Int64)
        /// It is, and was last seen too long ago.
        case stale(lastSeen: Int64)
    }

    package var event: Coordinates
    /// A timer's coordinates are what its partition had been read to.
    package var isTimer: Bool
    /// Of the record, or when the timer was due; in milliseconds since 1970.
    package var time: Int64?
    package var order: String?
    package var reading = EventReading()
    package var outcome: Outcome?
    /// Of a device that is asked about, its own only.
    package var pushes: [Push] = []
    package var devices = 0
    package var sources: [String: String] = [:]
    package var subscribed: Subscribed?
    /// Timers that it settles, by reason.
    package var settled: [TimerDrop: Int] = [:]
    /// How many of an event's pushes re-drives have sent, by their ids, to whomever.
    package var redrives: [String: Int] = [:]
    package var step: JournalStep?
}
