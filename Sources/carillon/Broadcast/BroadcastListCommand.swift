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

extension BroadcastRow: TableRow {
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
}
