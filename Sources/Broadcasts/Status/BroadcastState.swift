import Pipeline

/// The state of a broadcast as a whole.
package enum BroadcastState: String, CaseIterable, Sendable, Encodable {
    case waiting
    case underWay = "under_way"
    case done
    case cancelled
    case replaced
    case expired
    /// It is a dead letter, of `carillon broadcasts` at least.
    case failed

    package init(_ entry: BroadcastLog.Entry, _ stages: BroadcastProgress.Stages, now: WallTime) {
        switch entry.end {
        case .cancelled: self = .cancelled
        case .replaced: self = .replaced
        case nil:
            guard let broadcast = entry.broadcast else {
                self = .failed
                return
            }
            let isOver = stages.waiting == 0 && stages.underWay == 0
            if stages.failed > 0 {
                self = .failed
            } else if isOver, stages.expired > 0 {
                self = .expired
            } else if isOver, stages.stopped == 0 {
                self = .done
            } else if broadcast.expiresAt <= now {
                self = .expired
            } else {
                self = stages.over + stages.underWay > 0 ? .underWay : .waiting
            }
        }
    }
}
