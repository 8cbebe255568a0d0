import FanOut
import Subscriptions

/// What the follower has read and not applied yet: larger transactions load faster, and a disk without room takes none.
struct WaitingChanges: ~Copyable {
    var changes = SubscriptionChanges()
    /// Whether there is anything to store, if only an offset.
    var isDirty = false

    /// A transaction has no more changes than this, and one batch.
    private static let countLimit = 20_000
    /// And no more bytes: 20,000 of the largest subscriptions would take 90 MB.
    private static let byteLimit = 32 << 20

    mutating func append(_ record: SubscriptionRecord) {
        changes.append(record)
        isDirty = true
    }

    mutating func removeAll() {
        changes.removeAll()
        isDirty = false
    }

    /// Nothing more is to be read until it is applied.
    var isFull: Bool { changes.count >= Self.countLimit || changes.byteCount >= Self.byteLimit }

    /// Whether to apply now: more would come at once after a batch that was not quiet.
    func isDue(isQuiet: Bool) -> Bool { isDirty && (isQuiet || isFull) }
}
