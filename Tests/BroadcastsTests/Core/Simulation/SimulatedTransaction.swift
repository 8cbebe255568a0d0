import Notifications

@testable import Broadcasts

/// A transaction that the simulated broker has committed.
struct SimulatedTransaction {
    struct Move {
        var before: BroadcastOffset
        var after: BroadcastOffset
        /// Below this offset the process knew who leaves.
        var known: Int64
    }

    /// When it began and looked at the logs; also the clock by which broadcasts expire.
    var clock: WallTime
    /// When the broker got its journal.
    var appended: WallTime
    /// The end of its view of the broadcasts.
    var view: Int64
    /// By partition of the subscriptions.
    var moves: [Int32: Move]
    /// What passes wrote, and what was written to joiners, in that order.
    var passes: [RecordedPushes.Push]
    var late: [RecordedPushes.Push]
    /// The offsets of dead broadcasts.
    var letters: [Int64]
    var entry: BroadcastJournalEntry
}
