/// What the fold of a partition's orders lacks at its beginning. It needs the last two horizons of records (ADR 23),
/// and the log may no longer have them (ADR 34).
package enum FoldBeginning: Hashable, Sendable {
    /// Nothing is missing.
    case complete
    /// The records before the next one with a timestamp are missing.
    case sinceNextRecord
    /// Records at or before this time may be missing: the timestamp of the first record of the fold.
    case since(WallTime)

    /// The beginning of a fold from the log.
    ///
    /// - Parameters:
    ///   - offset: the offset of the first record that the log has from two horizons before `newest`.
    ///   - first: the log's first offset, queried after `offset`: otherwise records that retention removes in between
    ///     would go unnoticed.
    ///   - committed: the end of the fold.
    ///   - newest: the newest timestamp below `committed`; 1970 if it is unknown.
    package init(at offset: Int64, first: Int64, committed: Int64, newest: WallTime) {
        if first == 0 || offset > first {
            self = .complete
        } else if committed <= first, newest > .epoch {
            // There is nothing to fold, and no removed record was newer than this.
            self = .since(newest)
        } else {
            self = .sinceNextRecord
        }
    }

    /// Takes the timestamp of the partition's next record.
    mutating func take(_ timestamp: WallTime) {
        switch self {
        case .sinceNextRecord: self = .since(timestamp)
        case .complete, .since: break
        }
    }

    /// Whether the state may be incomplete: true until the fold spans two horizons.
    ///
    /// - Parameters:
    ///   - newest: the partition's newest timestamp.
    ///   - horizon: in milliseconds.
    package func isIncomplete(newest: WallTime, horizon: Int64) -> Bool {
        switch self {
        case .complete: false
        case .sinceNextRecord: true
        case .since(let time): newest < time + 2 * horizon
        }
    }

    /// Whether an incomplete state is worth a warning. It is not if the partition was quiet for two horizons and
    /// retention removed its records: the next record is so much newer that nothing is missing.
    ///
    /// - Parameters:
    ///   - newest: the partition's newest timestamp.
    ///   - now: the clock.
    ///   - horizon: in milliseconds.
    package func isWorthTelling(newest: WallTime, now: WallTime, horizon: Int64) -> Bool {
        let isQuiet = self == .since(newest)
        return isIncomplete(newest: isQuiet ? max(newest, now) : newest, horizon: horizon)
    }
}
