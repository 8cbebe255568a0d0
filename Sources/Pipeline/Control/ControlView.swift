import Notifications

/// What `topic.control` says at a moment. A copy costs no more than some references.
package struct ControlView: FollowedView {
    /// No push lives longer, and nothing holds longer: 28 days, in milliseconds, from the broker's time of the record.
    package static let longest: Int64 = 28 * 86_400_000
    /// So long after the broker's time of its record nothing begins against it (docs/rules.md §13, "How soon"): a look is at most
    /// 1 s old, and a stream is waited for 3 s. In milliseconds, with a second for clocks that differ.
    package static let soon: Int64 = 5_000

    /// A pause, and the broker's time of its record.
    package struct Pause: Equatable, Sendable {
        package var entry: ControlEntry
        package var recordedAt: WallTime

        func holds(at now: WallTime) -> Bool { now - recordedAt < ControlView.longest }
    }

    package var freshSince: ContinuousClock.Instant?
    package internal(set) var cancelled = CancelledRequests()
    package internal(set) var withdrawn = WithdrawnPushes()
    var pauses: [PauseTarget: Pause] = [:]
    /// Records that were none of a form that this version knows, or too many.
    package internal(set) var ignored = 0

    package init() {}

    /// Those that hold now, in an order.
    package func pauses(at now: WallTime) -> [(target: PauseTarget, pause: Pause)] {
        pauses.filter { $0.value.holds(at: now) }.map { ($0.key, $0.value) }
            .sorted { "\($0.target)" < "\($1.target)" }
    }

    package func isPaused(_ target: PauseTarget, at now: WallTime) -> Bool {
        pauses[target].map { $0.holds(at: now) } ?? false
    }
}

/// Requests that were cancelled.
package struct CancelledRequests: Sendable {
    /// The broker's time of the newest record that cancels one.
    var since = SharedTable<WallTime>()

    package var count: Int { since.count }

    package func contains(_ id: Hash128, at now: WallTime) -> Bool { since(id, at: now) != nil }

    /// The broker's time of the newest record that cancels it; nil if none holds now.
    package func since(_ id: Hash128, at now: WallTime) -> WallTime? {
        since[id].flatMap { now - $0 < ControlView.longest ? $0 : nil }
    }
}
