import Notifications

/// Which subscriptions of the log are newer than what the table has: all but those that the registrar has replaced since,
/// and its own.
///
/// The table has the registrar's subscriptions as soon as they are committed, and those of others once they were read. A
/// record that somebody else wrote before, and that is read only now, must not undo what came after it.
struct OwnWrites {
    /// By key, in bytes as Kafka knows it: the newest command by which a record was written that is committed and not read yet.
    private var underWay: [ByteText: Int64] = [:]

    /// Records with these keys were committed.
    ///
    /// - Parameter command: the offset of the command that each was written for.
    mutating func committed(_ keys: some Sequence<SubscriptionKey>, for command: Int64) {
        for key in keys { underWay[ByteText(key.text)] = command }
    }

    /// Everything that was committed was read: what is still under way was compacted away.
    mutating func forgetAll() { underWay.removeAll() }

    /// Whether the table is to take a record that was read.
    ///
    /// - Parameter command: what its header names; nil: it has none.
    mutating func isNews(_ key: SubscriptionKey, command: Int64?) -> Bool {
        let key = ByteText(key.text)
        guard let newest = underWay[key] else { return true }
        if command == newest { underWay[key] = nil }
        return false
    }
}
