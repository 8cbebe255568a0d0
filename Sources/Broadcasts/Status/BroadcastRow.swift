import Pipeline

/// A broadcast in a list.
package struct BroadcastRow: Encodable {
    package var id: String
    package var audience: String?
    package var kind: String?
    package var publishedAt: WallTime?
    package var expiresAt: WallTime?
    package var state: BroadcastState
    /// The partitions that are over, and all.
    package var partitionsDone: Int
    package var partitions: Int

    package init(_ entry: BroadcastLog.Entry, _ progress: BroadcastProgress, now: WallTime) {
        let stages = progress.stages
        id = entry.id
        audience = entry.broadcast?.audience
        kind = entry.broadcast?.kind
        publishedAt = entry.broadcast?.publishedAt
        expiresAt = entry.broadcast?.expiresAt
        state = BroadcastState(entry, stages, now: now)
        partitionsDone = stages.over
        partitions = progress.partitions
    }

    /// Broadcasts in the order of their log.
    ///
    /// - Parameters:
    ///   - all: also those that are not valid.
    ///   - readJournal: reads the entries since a time. Of what has expired only they say whether it was sent before.
    package static func list(
        _ log: BroadcastLog, _ group: BroadcastGroup, all: Bool, now: WallTime,
        readJournal: (_ since: WallTime?, _ take: (BroadcastJournalEntry) -> Void) throws -> Void
    ) rethrows -> [BroadcastRow] {
        let entries = log.entries.filter { entry in
            all || entry.end == nil && entry.broadcast.map { $0.expiresAt > now } ?? false
        }
        var progress = entries.map { group.progress(of: $0) }
        let expired = entries.indices.filter { index in
            entries[index].end == nil && BroadcastState(entries[index], progress[index].stages, now: now) == .done
                && entries[index].broadcast.map { $0.expiresAt <= now } ?? false
        }
        if let first = expired.first {
            try readJournal(entries[first].time) { entry in
                for index in expired { progress[index].note(entry) }
            }
        }
        return zip(entries, progress).map { BroadcastRow($0, $1, now: now) }
    }
}
