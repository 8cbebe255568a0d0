import FanOut
import Subscriptions

/// What the follower has read and not applied yet: larger transactions load faster, and a full disk takes none.
struct WaitingChanges: ~Copyable {
    var changes = SubscriptionChanges()
    /// Whether there is anything to store, if only an offset.
    var isDirty = false

    /// A transaction has at most this many changes, plus one batch.
    private static let countLimit = 20_000
    /// And at most this many bytes, plus one batch: 20,000 of the largest subscriptions would take 90 MB.
    private static let byteLimit = 32 << 20

    mutating func append(_ record: SubscriptionRecord) {
        changes.append(record)
        isDirty = true
    }

    mutating func removeAll() {
        changes.removeAll()
        isDirty = false
    }

    /// Nothing more may be read until the changes are applied.
    var isFull: Bool { changes.count >= Self.countLimit || changes.byteCount >= Self.byteLimit }

    /// Whether to apply the changes now. After a full batch, one that is not quiet, more changes are about to come.
    func isDue(isQuiet: Bool) -> Bool { isDirty && (isQuiet || isFull) }
}
