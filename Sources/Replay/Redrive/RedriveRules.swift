import Pipeline

/// Which of the past's pushes a re-drive sends. Values only; the time is one of them.
package struct RedriveRules: Sendable {
    /// By partition, the events that are selected.
    package var selected: [Int32: Range<Int64>] = [:]
    /// Which of them; what it does not select still replaces earlier notifications of its order.
    package var filter = FilterRules()
    /// What is sent must not be older, by the event's time or when its timer was due; in milliseconds.
    package var maxAge: Int64 = 3_600_000
    /// Send again what was dispatched already.
    package var includesSent = false
    /// The clock, in milliseconds since 1970.
    package var now: Int64 = 0
    /// When the re-drive was first started: what the pipeline did after it is its own.
    package var began: Int64 = .max
    /// The last push that was sent, by its place in the list; empty: none was.
    package var sentUpTo: [UInt8] = []

    package init() {}

    /// Whether the records of an event, or timers that went before it, are selected by their place.
    func selects(_ partition: Int32, _ offset: Int64, isTimer: Bool) -> Bool {
        guard let range = selected[partition], !range.isEmpty else { return false }
        return isTimer ? range.lowerBound < offset && offset <= range.upperBound : range.contains(offset)
    }

    /// Why a notification that is selected is left out whatever else there is; nil: it is not.
    ///
    /// - Parameters:
    ///   - time: of its event, or when its timer was due.
    ///   - expiresAt: nil: never.
    ///   - clock: of its transaction; nil: there is none.
    func reasonAgainst(time: Int64, expiresAt: Int64?, clock: Int64?) -> RedriveOmission? {
        if time < now - maxAge { return .tooOld }
        if let expiresAt, expiresAt <= now { return .expired }
        return clock.map { $0 > began } == true ? .afterStart : nil
    }
}

/// Why a push that events give is not sent by a re-drive.
package enum RedriveOmission: String, CaseIterable, Sendable {
    /// Its event is older than `--max-age`.
    case tooOld = "too_old"
    /// It is past its `expires-at`.
    case expired
    /// The pipeline's transaction is younger than the re-drive, which was resumed.
    case afterStart = "after_start"
    /// A later notification of the same order took its place.
    case replaced
    /// It is in the dispatch topic, whoever wrote it.
    case alreadySent = "already_sent"
    /// Its device has unsubscribed since the plan was made.
    case unsubscribed
    /// Its device has its message already, from an event at another place: in a log that was restored from a mirror.
    case otherSource = "other_source"

    /// For a person, behind a number.
    package var sentence: String {
        switch self {
        case .tooOld: "older than --max-age"
        case .expired: "past their expires-at"
        case .afterStart: "done by the pipeline after the start"
        case .replaced: "replaced by a later notification of their order"
        case .alreadySent: "dispatched already"
        case .unsubscribed: "whose device has unsubscribed"
        case .otherSource: "dispatched already, under another source"
        }
    }
}
