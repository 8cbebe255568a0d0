/// Which past pushes a re-drive sends. A pure value; the time is part of it.
package struct RedriveRules: Sendable {
    /// By partition, the selected offsets.
    package var selected: [SourcePartition: Range<Int64>] = [:]
    /// Which of their events; one that it does not select still replaces earlier notifications of its order.
    package var filter = FilterRules()
    /// The maximum age of what is sent, by the event's time or the timer's due time; in milliseconds.
    package var maxAge: Int64 = 3_600_000
    package var choice = RedriveChoice.missed
    /// The clock.
    package var now = WallTime.epoch

    /// Whether the records of an event, or timers that fired before it, are selected by their coordinates.
    func selects(_ partition: SourcePartition, _ offset: Int64, isTimer: Bool) -> Bool {
        guard let range = selected[partition], !range.isEmpty else { return false }
        return isTimer ? range.lowerBound < offset && offset <= range.upperBound : range.contains(offset)
    }

    /// Why a selected notification is excluded regardless of others; nil: it is not.
    ///
    /// - Parameters:
    ///   - time: of its event, or the timer's due time.
    ///   - expiresAt: nil: it never expires.
    func reasonAgainst(time: WallTime, expiresAt: WallTime?) -> RedriveOmission? {
        if time < now - maxAge { return .tooOld }
        if let expiresAt, expiresAt <= now { return .expired }
        return nil
    }
}

/// Which pushes a re-drive sends, by what became of them before.
package enum RedriveChoice: Sendable {
    /// Those that were not dispatched.
    case missed
    /// Whether they were dispatched or not.
    case all
    /// Those that were dispatched, and that the provider refused or the sender gave up.
    case undelivered
}

/// Why a re-drive does not send a push.
package enum RedriveOmission: String, CaseIterable, Sendable, Encodable, CodingKeyRepresentable {
    /// Its event is older than `--max-age`.
    case tooOld = "too_old"
    /// Its `expires-at` has passed.
    case expired
    /// A later notification of the same order replaced it; of a request, a later push with its collapse key.
    case replaced
    /// It is in the dispatch topic, whoever wrote it.
    case alreadySent = "already_sent"
    /// Its device has unsubscribed since the plan was made.
    case unsubscribed
    /// Its person or its address was erased after it.
    case erased
    /// Its device already has the message, from an event with other coordinates: the log was restored from a mirror.
    case otherSource = "other_source"
    /// Of those that are undelivered: it was not dispatched.
    case notDispatched = "not_dispatched"
    /// It has no outcome yet, or no longer.
    case noOutcome = "no_outcome"
    /// The provider has accepted it, or sending it again would not help.
    case settled

    /// For a person, after a number.
    package var sentence: String {
        switch self {
        case .tooOld: "older than --max-age"
        case .expired: "past their expires-at"
        case .replaced: "replaced by a later notification of their order, or with their collapse key"
        case .alreadySent: "dispatched already"
        case .unsubscribed: "whose device has unsubscribed"
        case .erased: "of people or addresses that were erased since"
        case .otherSource: "dispatched already, under another source"
        case .notDispatched: "not dispatched: without --undelivered they are sent"
        case .noOutcome: "without an outcome of their provider"
        case .settled: "accepted by their provider, expired, or of a dead device"
        }
    }
}
