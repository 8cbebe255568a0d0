import Arguments
import Foundation
import KafkaClient
import Pipeline

/// `carillon schedule`
struct ScheduleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule",
        abstract: "Show which timers are due when; of a place or an order also those that were.",
        discussion: """
            Reads the events as the pipeline does, from two horizons ago to the end, and writes nothing: it needs the \
            settings of 'carillon run', and can run beside it. Past timers are reported as far as the log shows: 'gone' is a \
            timer that nothing in the log cancelled. It was sent, unless the pipeline reached it later than \
            schedule.max-lateness or than the order's next reminder, or nobody had subscribed to the place. For a \
            schedule that is not in a log yet see 'carillon render --until'.
            """,
        examples: [
            ("carillon schedule -b localhost:9092", "The next 50 timers."),
            ("carillon schedule --place 42 --json", "A place's timers, past ones too, as JSON lines."),
            ("carillon schedule --order 4711", "Why an order was reminded of, or was not."),
        ])

    @Option(help: "Only this place, with what has been.", valueName: "id") var place: String?
    @Option(help: "Only this order, with what has been.", valueName: "id") var order: String?
    @Option(help: "At most so many timers to come; 0 for all.", valueName: "count") var limit = 50
    @Flag(help: "Print JSON lines.") var json: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func validate() -> [String] {
        limit < 0 ? ["--limit \(limit) is not allowed; it must be 0 or more"] : []
    }

    func run() async throws {
        let configuration = try options.checked()
        guard configuration.orders.schedule != nil else {
            throw CommandFailure(.configuration, "schedule=off: there are no timers")
        }
        var consumer = try Consumer(
            assigning: configuration.kafka, group: configuration.groupID, logger: configuration.clientSink)
        let patience = configuration.transactionTimeout + .seconds(10)
        let positions = try consumer.explaining { consumer throws(KafkaError) in
            try GroupPositions(of: configuration.topics.events, consumer, timeout: patience)
        }
        var reader = ScheduleReader(
            rules: configuration.rules, orders: configuration.orders, topic: configuration.topics.events,
            filter: .init(order: order, place: place))
        try read(positions, with: &consumer, configuration, into: &reader)
        let timers = reader.finish().map(TimerRow.init)
        let past = timers.filter { !$0.isPending }
        let pending = timers.filter(\.isPending)
        let shown = past + (limit == 0 ? pending : Array(pending.prefix(limit)))
        try Output.print(
            lines: shown, json: json, footer: "\(ProgressLine.counted(pending.count, "timer")) to come")
        let lacking = positions.partitions.filter { $0.metadata == nil }.count
        if lacking > 0 {
            Terminal.warn(
                "\(configuration.groupID) has no watermark in \(lacking) partitions; now stands in for it")
        }
    }

    private func read(
        _ positions: GroupPositions, with consumer: inout Consumer, _ configuration: PipelineConfiguration,
        into reader: inout ScheduleReader
    ) throws {
        let now = WallClock.now
        var times: [TopicPartition: WallTime] = [:]
        var ends: [TopicPartition: Offset] = [:]
        for position in positions.partitions {
            let metadata = position.metadata
            reader.begin(position.id.partition, watermark: metadata?.watermark ?? TimerWatermark(now), now: now)
            let newest = metadata?.newestTimestamp ?? .epoch
            let horizons = 2 * Int64(configuration.orders.horizon / .milliseconds(1))
            times[position.id] = newest - horizons
            ends[position.id] = position.end
        }
        let starts = try consumer.offsets(at: times, timeout: .seconds(30))
        var progress = ProgressLine(unit: "events")
        var count = 0
        try TopicReader.read(from: starts, to: ends, with: &consumer) { records in
            reader.batch.fill(with: records)
            reader.foldBatch()
            count += records.count
        } progress: {
            progress.show(count, fraction: $0)
        }
        progress.clear()
    }
}

private struct TimerRow: TableRow {
    var due: WallTime
    var eventType: String
    var reminder: Int?
    var orderID: String
    var placeID: String
    var partition: Int32
    var state: String
    var reason: String?

    var isPending: Bool { state == ScheduleReader.Timer.State.pending.rawValue }

    init(_ timer: ScheduleReader.Timer) {
        due = timer.due
        eventType = timer.kind.type.rawValue
        reminder = timer.kind.reminder
        orderID = timer.orderID
        placeID = timer.place
        partition = timer.partition
        state = timer.state.rawValue
        reason = timer.reason
    }

    static let heading = ["DUE", "EVENT", "ORDER", "PLACE", "PARTITION", "STATE"]

    var cells: [String] {
        let event = String(eventType.trimmingPrefix("event_")) + (reminder.map { " \($0)" } ?? "")
        let told = state + (reason.map { (isPending ? ", as it stands: " : ": ") + $0 } ?? "")
        return ["\(due)", event, orderID, placeID, "\(partition)", told]
    }
}
