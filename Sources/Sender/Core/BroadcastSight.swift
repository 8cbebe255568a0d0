import Pipeline

/// What a lane knows of `topic.broadcasts`, and whether that is enough to send a broadcast's push (docs/rules.md §13).
struct BroadcastSight {
    /// A push is sent at most so long after the question for the end that the view has reached, in milliseconds.
    static let longest: Int64 = 1_000

    enum Standing: Equatable {
        /// It is the newest record of its key.
        case current
        /// It is cancelled or replaced, or `topic.broadcasts` does not have it any more.
        case over
        /// The view is older than the push.
        case unknown
    }

    var view = BroadcastView()
    /// When the end that the view has reached was asked for.
    var askedAt: WallTime?

    func isFresh(now: WallTime) -> Bool { askedAt.map { now - $0 <= Self.longest } ?? false }

    /// - Parameter time: when the push was read; its broadcast was written before.
    func standing(of broadcast: Int64?, readAt time: WallTime) -> Standing {
        guard let broadcast else { return .over }
        guard broadcast >= view.reached else { return view.isNewest(broadcast) ? .current : .over }
        return askedAt.map { $0 > time } ?? false ? .over : .unknown
    }
}
