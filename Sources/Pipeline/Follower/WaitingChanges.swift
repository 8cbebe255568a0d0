/// What the follower has read and not stored yet: larger transactions store faster, and a full disk takes none.
///
/// A complete table gets changes within a few rounds. Into an empty one nothing is stored until everything is read: what
/// has the size of a run is laid aside.
struct WaitingChanges: ~Copyable {
    var changes = SubscriptionChanges()
    /// What was read of the topic from its beginning, before ``changes``.
    var fill: TableFill
    /// Whether there is anything to store, if only an offset.
    var isDirty = false

    /// A transaction has at most this many changes, plus one batch.
    private static let countLimit = 20_000
    /// A transaction or a run has at most this many bytes, plus one batch: 20,000 of the largest subscriptions would take
    /// 90 MB.
    private let byteLimit: Int

    /// - Parameters:
    ///   - folder: where changes are laid aside.
    ///   - byteLimit: of the changes in memory.
    init(in folder: String, byteLimit: Int = 32 << 20) {
        fill = TableFill(in: folder)
        self.byteLimit = byteLimit
    }

    var count: Int { fill.count + changes.count }

    mutating func append(_ record: SubscriptionRecord) {
        changes.append(record)
        isDirty = true
    }

    mutating func removeAll() {
        changes.removeAll()
        fill.removeAll()
        isDirty = false
    }

    /// Nothing more may be read until the changes are stored or laid aside.
    func isFull(isFilling: Bool) -> Bool {
        changes.byteCount >= byteLimit || !isFilling && changes.count >= Self.countLimit
    }

    /// Whether to apply the changes to a complete table now. After a full batch, one that is not quiet, more changes are
    /// about to come.
    func isDue(isQuiet: Bool) -> Bool { isDirty && (isQuiet || isFull(isFilling: false)) }
}
