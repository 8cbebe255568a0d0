import Notifications
import StateStore

extension ChannelTable {
    /// What the log and the group have, by which a stored table is judged.
    struct Log {
        var origin: ChannelCheckpoint.Origin
        /// The first offset that can be read.
        var start: Int64
        /// What the group has committed: a table never is ahead of it.
        var committed: Int64
        /// A table that is older may have missed tombstones, in milliseconds (docs/kafka.md 18).
        var largestAge: Int64
        var now: WallTime
    }

    /// Opens the table of a partition, or creates one. What the log cannot bring up to date is wiped.
    ///
    /// - Parameter folder: of this partition alone.
    /// - Returns: where its fold continues, and why it begins again, if it does.
    static func open(
        _ folder: String, _ log: Log
    ) throws(StoreError) -> (table: ChannelTable, records: RecentFingerprints, rebuilt: String?) {
        let (store, opening) = try DiskStore.open(folder)
        let stored = try checkpoint(of: store)
        if let stored, let reason = problem(of: stored, log) {
            try store.close()
            try DiskStore.wipe(folder)
            return (try empty(try DiskStore.open(folder).store, log), RecentFingerprints(), reason)
        }
        guard let stored else {
            let reason: String? =
                switch opening {
                case .wiped(let reason): reason
                case .created, .clean, .unclosed: nil
                }
            return (try empty(store, log), RecentFingerprints(), reason)
        }
        let table = try ChannelTable(store: store, origin: log.origin, at: stored.checkpoint)
        return (table, stored.checkpoint.records, nil)
    }

    /// Opens the table of a partition without what was stored.
    static func openWiped(_ folder: String, _ log: Log) throws(StoreError) -> ChannelTable {
        try DiskStore.wipe(folder)
        return try empty(try DiskStore.open(folder).store, log)
    }

    private static func empty(_ store: DiskStore, _ log: Log) throws(StoreError) -> ChannelTable {
        try ChannelTable(
            store: store, origin: log.origin, at: ChannelCheckpoint(offset: log.start, time: log.now))
    }

    private static func checkpoint(
        of store: DiskStore
    ) throws(StoreError) -> (origin: ChannelCheckpoint.Origin, checkpoint: ChannelCheckpoint)? {
        let reader = try store.makeReader()
        try reader.begin()
        defer { reader.end() }
        guard let bytes = try reader.checkpoint() else { return nil }
        return ChannelCheckpoint.read(bytes)
            ?? (.init(topic: "", partition: -1, cluster: nil), ChannelCheckpoint(offset: 0, time: .epoch))
    }

    /// Why the log cannot bring a table up to date; nil if it can.
    static func problem(
        of stored: (origin: ChannelCheckpoint.Origin, checkpoint: ChannelCheckpoint), _ log: Log
    ) -> String? {
        let checkpoint = stored.checkpoint
        guard stored.origin.continues(as: log.origin) else {
            return "it is not of this partition, or not of this version"
        }
        guard checkpoint.offset >= log.start else { return "the log no longer has what follows it" }
        guard checkpoint.offset <= log.committed else { return "the group has committed an offset before it" }
        guard abs(log.now - checkpoint.time) <= log.largestAge else {
            return "it is so old that it may have missed unsubscriptions"
        }
        return nil
    }
}
