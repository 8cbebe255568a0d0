import Arguments
import Broadcasts
import Pipeline

/// `carillon broadcast list`
struct BroadcastListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the broadcasts that are valid now, and how far each has got.",
        discussion: "Where none of the commits of 'carillon broadcasts' is there, all wait.",
        examples: [
            ("carillon broadcast list", "The newest of each notificationid that has not expired."),
            ("carillon broadcast list --all --json", "All that the topic still has, as JSON lines."),
        ])

    @Flag(help: "Also those that have expired, were cancelled or replaced, or are dead letters.") var all: Bool
    @Flag(help: "Print JSON lines.") var json: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.checkedForBroadcasts()
        let log = try BroadcastLog.read(configuration)
        let group = try BroadcastGroup.read(configuration)
        let rows = try BroadcastRow.list(log, group, all: all, now: WallClock.now) {
            try BroadcastGroup.readJournal(configuration, since: $0, take: $1)
        }
        try Output.print(lines: rows, json: json, footer: ProgressLine.counted(rows.count, "broadcast"))
    }
}

/// A broadcast in a list.
struct BroadcastRow: TableRow {
    var id: String
    var audience: String?
    var kind: String?
    var publishedAt: WallTime?
    var expiresAt: WallTime?
    var state: BroadcastState
    /// The partitions that are over, and all.
    var partitionsDone: Int
    var partitions: Int

    init(_ entry: BroadcastLog.Entry, _ progress: BroadcastProgress, now: WallTime) {
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

    static let heading = ["ID", "AUDIENCE", "KIND", "PUBLISHED", "EXPIRES", "STATE"]

    var cells: [String] {
        let state =
            switch state {
            case .waiting, .done, .cancelled, .replaced, .expired: state.rawValue
            case .underWay: "under way, \(partitionsDone) of \(partitions) partitions"
            case .failed: "cannot be sent"
            }
        return [
            id, audience ?? "-", kind ?? "-", publishedAt?.description ?? "-", expiresAt?.description ?? "-", state,
        ]
    }

    /// Broadcasts in the order of their log.
    ///
    /// - Parameters:
    ///   - all: also those that are not valid.
    ///   - readJournal: reads the entries since a time. Of what has expired only they say whether it was sent before.
    static func list(
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
