import Arguments
import Events
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
        let list = BroadcastList(log, group, all: all, now: WallClock.now)
        Terminal.write(json ? try list.rows.map { try JSONOutput.text($0) }.joined() : list.text)
    }
}

/// Broadcasts in the order of their log.
struct BroadcastList {
    struct Row: Encodable {
        var id: String
        var audience: String?
        var kind: String?
        var publishedAt: String?
        var expiresAt: String?
        var state: String
        /// The partitions that are over, and all.
        var partitionsDone: Int
        var partitions: Int
    }

    private(set) var rows: [Row] = []
    private var states: [String] = []

    /// - Parameters:
    ///   - all: also those that are not valid.
    ///   - now: milliseconds since 1970.
    init(_ log: BroadcastLog, _ group: BroadcastGroup, all: Bool, now: Int64) {
        for entry in log.entries {
            let broadcast = entry.broadcast
            let isValid = entry.end == nil && broadcast.map { $0.expiresAt.milliseconds > now } ?? false
            guard all || isValid else { continue }
            let stages = group.progress(of: entry).stages
            let state = BroadcastState(entry, stages, now: now)
            rows.append(
                Row(
                    id: entry.id, audience: broadcast?.audience, kind: broadcast?.kind,
                    publishedAt: (broadcast?.publishedAt.milliseconds).map(TimeText.iso8601),
                    expiresAt: (broadcast?.expiresAt.milliseconds).map(TimeText.iso8601), state: state.rawValue,
                    partitionsDone: stages.over, partitions: group.partitions))
            states.append(state.text(stages, of: group.partitions))
        }
    }

    var text: String {
        var table = TextTable(["ID", "AUDIENCE", "KIND", "PUBLISHED", "EXPIRES", "STATE"])
        for (row, state) in zip(rows, states) {
            table.append([
                row.id, row.audience ?? "-", row.kind ?? "-", row.publishedAt ?? "-", row.expiresAt ?? "-", state,
            ])
        }
        return table.text + (rows.count == 1 ? "1 broadcast\n" : "\(rows.count) broadcasts\n")
    }
}
