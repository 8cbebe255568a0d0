import StateStore

/// What is read of a topic from its beginning, on its way into an empty table: laid aside in sorted runs on disk, and at
/// the topic's end stored in the order of its keys.
///
/// Stored as it comes, in random order, nearly every change of a large table would rewrite a page of its own. One owner.
package struct TableFill: ~Copyable {
    private let folder: String
    private var runs: SortedRuns?
    /// From the first part that is stored to the last.
    private var merge: RunMerge?
    private var summary = SubscriptionTableChange()
    /// The changes in the runs; one of a key counts once for each run that has it.
    package private(set) var count = 0

    /// - Parameter folder: an existing folder on the disk of the table. The runs need about as much room as the table
    ///   will; it is free again when they are stored.
    package init(in folder: String) {
        self.folder = folder
    }

    package var isEmpty: Bool { count == 0 }

    package mutating func removeAll() {
        self = TableFill(in: folder)
    }

    /// Lays changes aside, and empties them. After an error nothing has changed, and the call may be repeated.
    package mutating func layAside(_ changes: inout SubscriptionChanges) throws(SubscriptionTableError) {
        do throws(StoreError) {
            if runs == nil { runs = try SortedRuns(in: folder) }
            try runs?.add { run throws(StoreError) in try changes.write(to: &run) }
        } catch {
            throw SubscriptionTableError(error)
        }
        count += changes.count
        changes.addSkipped(to: &summary)
        changes.removeAll()
    }

    /// Whether a part has been stored since ``rewind()``.
    var isBeingStored: Bool { merge != nil }

    /// The next part that is stored is the first one again.
    mutating func rewind() {
        merge = nil
        summary.upserts = 0
    }

    /// Stores the next part.
    ///
    /// - Parameter limit: its size, in bytes of keys and values.
    /// - Returns: nil if there is more; after the last part, what all of them have changed.
    mutating func write(to writer: any StoreWriter, limit: Int) throws(StoreError) -> SubscriptionTableChange? {
        if merge == nil { merge = try runs?.merged() }
        var left = limit
        while let (key, value) = try merge?.next() {
            // There was nothing before it that it could remove.
            guard let value else { continue }
            try writer.append(key, value)
            summary.upserts += 1
            left -= key.count + value.count
            if left <= 0 { return nil }
        }
        return summary
    }
}
