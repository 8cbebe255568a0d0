/// Where a broadcast is as a whole.
enum BroadcastState: String, CaseIterable, Sendable {
    case waiting
    case underWay = "under_way"
    case done
    case cancelled
    case replaced
    case expired
    /// It is a dead letter.
    case failed

    /// - Parameter now: milliseconds since 1970.
    init(_ entry: BroadcastLog.Entry, _ stages: BroadcastProgress.Stages, now: Int64) {
        switch entry.end {
        case .cancelled: self = .cancelled
        case .replaced: self = .replaced
        case nil:
            guard let broadcast = entry.broadcast else {
                self = .failed
                return
            }
            let isOver = stages.waiting == 0 && stages.underWay == 0
            if isOver, stages.stopped == 0 {
                self = .done
            } else if broadcast.expiresAt.milliseconds <= now {
                self = .expired
            } else {
                self = stages.over + stages.underWay > 0 ? .underWay : .waiting
            }
        }
    }

    /// `under way, 5 of 12 partitions`.
    func text(_ stages: BroadcastProgress.Stages, of partitions: Int) -> String {
        switch self {
        case .waiting, .done, .cancelled, .replaced, .expired: rawValue
        case .underWay: "under way, \(stages.over) of \(partitions) partitions"
        case .failed: "cannot be sent"
        }
    }
}
