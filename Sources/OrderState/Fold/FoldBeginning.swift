/// What the fold of a partition's orders lacks at its beginning: it needs the last two horizons of records (ADR 23), and
/// the log may no longer have them (ADR 34).
package enum FoldBeginning: Hashable, Sendable {
    /// Nothing.
    case whole
    /// What was before the next record with a timestamp.
    case nextRecord
    /// Records that are no newer than this, in milliseconds since 1970: the timestamp of the first record of the fold.
    case record(Int64)

    /// Of a fold from the log.
    ///
    /// - Parameters:
    ///   - offset: what the log has as its first record of two horizons before `newest`.
    ///   - first: the first offset of the log, asked after that: what retention removes in between would be missed else.
    ///   - committed: the end of the fold.
    ///   - newest: the newest timestamp below `committed`, in milliseconds since 1970; 0 where it is not known.
    package init(at offset: Int64, first: Int64, committed: Int64, newest: Int64) {
        if first == 0 || offset > first {
            self = .whole
        } else if committed <= first, newest > 0 {
            // There is nothing to fold, and everything that is gone was at most this new.
            self = .record(newest)
        } else {
            self = .nextRecord
        }
    }

    /// The partition's next record has this timestamp, in milliseconds since 1970.
    mutating func take(_ timestamp: Int64) {
        switch self {
        case .nextRecord: self = .record(timestamp)
        case .whole, .record: break
        }
    }

    /// Whether the state may lack something: until the fold is two horizons long.
    ///
    /// - Parameters:
    ///   - newest: the partition's newest timestamp, in milliseconds since 1970.
    ///   - horizon: in milliseconds.
    package func isIncomplete(newest: Int64, horizon: Int64) -> Bool {
        switch self {
        case .whole: false
        case .nextRecord: true
        case .record(let time): newest < time + 2 * horizon
        }
    }

    /// Whether it is worth a warning. Not where the partition has been quiet for two horizons, and retention has taken its
    /// records: with the next one, which is that much newer, nothing is missing.
    ///
    /// - Parameters:
    ///   - newest: the partition's newest timestamp, in milliseconds since 1970.
    ///   - now: the clock, likewise.
    ///   - horizon: in milliseconds.
    package func isWorthTelling(newest: Int64, now: Int64, horizon: Int64) -> Bool {
        let isQuiet = self == .record(newest)
        return isIncomplete(newest: isQuiet ? max(newest, now) : newest, horizon: horizon)
    }
}
