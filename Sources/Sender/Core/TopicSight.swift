import Pipeline

/// What a lane knows of a topic, and whether that is enough to send by it (docs/rules.md §13).
struct TopicSight<View: FollowedView> {
    var view = View()
    /// When the end that the view has reached was asked for; nil where it has reached none.
    var askedAt: WallTime?

    /// A push is sent at most a second after the question for the end that the view has reached.
    func isFresh(now: WallTime) -> Bool { askedAt.map { now - $0 <= 1_000 } ?? false }
}

extension TopicSight<BroadcastView> {
    enum Standing: Equatable {
        /// It is the newest record of its key.
        case current
        /// It is cancelled or replaced, or `topic.broadcasts` does not have it any more.
        case over
        /// The view is older than the push.
        case unknown
    }

    /// - Parameter time: when the push was read; its broadcast was written before.
    func standing(of broadcast: Int64?, readAt time: WallTime) -> Standing {
        guard let broadcast else { return .over }
        guard broadcast >= view.reached else { return view.isNewest(broadcast) ? .current : .over }
        return askedAt.map { $0 > time } ?? false ? .over : .unknown
    }
}
