import Arguments
import Delivery

/// `carillon deliver lanes`
struct DeliverLanesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lanes",
        abstract: "Show the lanes and how far each is, or record where they end after a change of them.",
        discussion: """
            UNFINISHED counts the dispatch topic's offsets from the first unfinished one on, BROADCASTS those of the broadcasts' \
            dispatch topic, RETRIES those of the retry topics of both. \
            A change of delivery.lanes or delivery.retry would send records twice, or not at all, if it took effect just \
            anywhere. Stop the lanes, record the cut with the new settings, and run the old settings until they have \
            finished what is below the cut; the new ones begin there. Exit codes: 0 shown, recorded, or not needed; 3 a lane \
            runs; 78 the last cut is not finished.
            """,
        examples: [
            ("carillon deliver lanes --config new.properties", "How far each lane is."),
            ("carillon deliver lanes --config new.properties --cut", "Where the old lanes end."),
        ])

    @Flag(help: "Record the ends of the dispatch topics as the end of the old lanes.") var cut: Bool
    @Flag(help: "Print one JSON document.") var json: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.checked()
        let lanes = LaneGroups(configuration, logger: configuration.makeLogger())
        let groups = try lanes.groups()
        let ends = try lanes.ends()
        guard cut else {
            let rows = groups.map { LaneRow($0, ends: ends, hash: configuration.delivery.lanesHash) }
            if rows.isEmpty, !json { return Terminal.write("No lane has committed anything yet.\n") }
            return try Output.print(rows, json: json)
        }
        let hash = configuration.delivery.lanesHash
        switch LaneCutPlan.judge(groups, lanes: hash, last: try lanes.lastCut(), ends: ends) {
        case .cut(let cut):
            try lanes.record(cut)
            Terminal.write(
                "The cut is recorded, in \(cut.edges.count) partitions. Run the old settings until they end, then the "
                    + "new ones.\n")
        case .recorded: Terminal.write("The cut for these settings is recorded already.\n")
        case .notNeeded: Terminal.write("No lane has other settings: no cut is needed.\n")
        case .running(let names):
            throw CommandFailure(
                .inUse, "these lanes run: \(names.joined(separator: ", ")); stop every 'carillon deliver' of them first"
            )
        case .unfinished(let names):
            throw CommandFailure(
                .configuration,
                "these lanes have not finished what is below the last cut: \(names.joined(separator: ", ")); run their "
                    + "settings until they end")
        }
    }
}

/// Scripts rely on its member names.
private struct LaneRow: TableRow {
    static let heading = ["LANE", "MEMBERS", "PARTITIONS", "UNFINISHED", "BROADCASTS", "RETRIES", "SETTINGS"]

    var lane: String
    var members: Int
    var partitions: Int
    /// Offsets of the dispatch topic from the first unfinished one on; other lanes' records and markers count too.
    var unfinished: Int64
    /// The same of the broadcasts' dispatch topic; 0 of a lane that has not read it yet.
    var broadcasts: Int64
    /// The same of its retry topics, all together.
    var retries: Int64
    var hasTheseSettings: Bool

    var cells: [String] {
        [lane, "\(members)", "\(partitions)", "\(unfinished)", "\(broadcasts)", "\(retries)"]
            + [hasTheseSettings ? "these" : "others"]
    }

    init(_ group: LaneCutPlan.Group, ends: [Int32: LaneEdge], hash: String) {
        lane = group.lane
        members = group.members
        partitions = group.offsets.count
        unfinished = group.offsets.reduce(0) { $0 + max(0, (ends[$1.key]?.orders ?? 0) - $1.value.offset) }
        broadcasts = group.broadcasts.reduce(0) { $0 + max(0, (ends[$1.key]?.broadcasts ?? 0) - $1.value.offset) }
        retries = group.retries
        hasTheseSettings = group.offsets.values.allSatisfy { $0.lanes == hash }
    }
}
