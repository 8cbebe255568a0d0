import Arguments
import Foundation
import KafkaClient
import Pipeline

/// `carillon offsets show`
struct OffsetsShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show the group's offsets in each topic that it reads, its lag, and what each commit carries.",
        discussion: "Ends with 1 if the group has committed nothing.",
        examples: [
            ("carillon offsets show -b localhost:9092", "Of the default group."),
            ("carillon offsets show --group carillon-eu --json", "Of another group, as one JSON document."),
        ])

    @Flag(help: "Print one JSON document.") var json: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.checked()
        var consumer = try Consumer(
            assigning: configuration.kafka, group: configuration.groupID,
            logger: configuration.clientSink)
        var rows: [PositionRow] = []
        for source in configuration.topics.sources {
            let positions = try consumer.explaining { consumer throws(KafkaError) in
                try GroupPositions(
                    of: configuration.topics.topic(of: source), consumer,
                    timeout: configuration.transactionTimeout + .seconds(10))
            }
            rows += positions.partitions.map { PositionRow($0, of: source) }
        }
        let isKnown = rows.contains { $0.committed != nil }
        if json || isKnown { try Output.print(rows, json: json) }
        guard isKnown else {
            let topics = configuration.topics.sources.map { configuration.topics.topic(of: $0) }
            throw CommandFailure(
                .difference,
                "group \(configuration.groupID) has no committed offsets in \(topics.joined(separator: " or ")): 'carillon run' "
                    + "has not worked in it yet, or --group names another one")
        }
    }
}

/// Scripts rely on its member names: `newestRecord`.
private struct PositionRow: TableRow {
    static let keys = JSONEncoder.KeyEncodingStrategy.useDefaultKeys
    static let heading = ["PARTITION", "START", "COMMITTED", "END", "LAG", "WATERMARK", "PARTITIONS", "NEWEST RECORD"]

    var topic: String
    var partition: Int32
    var start: Int64
    var committed: Int64?
    var end: Int64
    var lag: Int64?
    var watermark: String?
    var partitions: Int32?
    var newestRecord: WallTime?

    var cells: [String] {
        [
            "\(topic)/\(partition)", "\(start)", committed.map(String.init) ?? "-", "\(end)",
            lag.map(String.init) ?? "-", watermark ?? "-", partitions.map(String.init) ?? "-",
            newestRecord?.description ?? "-",
        ]
    }

    init(_ position: GroupPositions.Partition, of source: SourceKind) {
        topic = position.id.topic
        partition = position.id.partition
        start = position.start.value
        end = position.end.value
        committed = position.committed?.offset.value
        lag = committed.map { max(0, position.end.value - $0) }
        let metadata = position.metadata
        // Requests have no timers.
        switch source {
        case .orders: watermark = metadata?.watermark.text
        case .requests: watermark = nil
        }
        partitions = metadata?.partitions
        newestRecord = metadata.flatMap { $0.newestTimestamp > .epoch ? $0.newestTimestamp : nil }
    }
}
