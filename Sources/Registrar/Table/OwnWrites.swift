import Notifications

/// Which subscriptions of the log are newer than what the table has: all but those that the registrar has replaced since,
/// and its own.
///
/// The table has the registrar's subscriptions as soon as they are committed, and those of others once they were read. A
/// record that somebody else wrote before, and that is read only now, must not undo what came after it.
struct OwnWrites {
    /// By key: the commands by which its records were written that are committed and not read yet, in the log's order.
    private var underWay: [SubscriptionKey: [Int64]] = [:]

    /// Records with these keys were committed.
    ///
    /// - Parameter command: the offset of the command that each was written for.
    mutating func committed(_ keys: some Sequence<SubscriptionKey>, for command: Int64) {
        for key in keys { underWay[key, default: []].append(command) }
    }

    /// Whether the table is to take a record that was read.
    ///
    /// - Parameter command: what its header names; nil: it has none.
    mutating func isNews(_ key: SubscriptionKey, command: Int64?) -> Bool {
        guard var commands = underWay[key] else { return true }
        if commands.first == command {
            commands.removeFirst()
            underWay[key] = commands.isEmpty ? nil : commands
        }
        return false
    }
}
