import Arguments
import KafkaClient
import Pipeline

/// `carillon offsets set`
struct OffsetsSetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Set the offsets from which the group reads the events; where other roles have none, theirs too.",
        discussion:
            "With --to a place in time, the groups of broadcasts and of the sender get offsets there too, where their "
            + "settings are there and they have never committed anything; what they have committed stays. The group must have no live member: stop every 'carillon run' of it first. Static members that have "
            + "stopped are waited for until their session has expired. Timer watermarks stay as they are, unless "
            + "--watermark is given: timers that are due at or before it are not sent, later ones are.",
        examples: [
            ("carillon offsets set --to latest", "Before the first start, or to skip what is in the log."),
            ("carillon offsets set --to latest --roles deliver", "The first offsets of the sender alone."),
            ("carillon offsets set --to 2026-11-21T10:00:00Z --resend", "Send again what came since then."),
            ("carillon offsets set --partition 3 --to 1200 --dry-run", "What one partition's move would mean."),
            ("carillon offsets set --accept-partitions", "Continue after partitions were added to the topic."),
            (
                "carillon offsets set --watermark now --repeat-timers",
                "Bring a watermark back that is ahead of the clock."
            ),
        ])

    @Option(help: "The new place.", valueName: "earliest|latest|time|offset") var to: String?
    @Option(help: "Only this partition.", valueName: "n") var partition: [Int] = []
    @Option(
        help: "Only of these roles; all that have their settings by default.", valueName: "role,…|all",
        completion: .list(RoleChoice.words))
    var roles = RoleChoice.all
    @Flag(help: "Allow to move back: events are sent again.") var resend: Bool
    @Flag(
        help: "The topic's partition count was changed on purpose: begin new partitions at their start, keep no timers."
    )
    var acceptPartitions: Bool
    @Option(help: "The new timer watermark; without --to the offsets stay.", valueName: "now|time") var watermark:
        String?
    @Flag(help: "Allow the watermark to move back: timers are sent again.") var repeatTimers: Bool
    @Flag(help: "Commit nothing.") var dryRun: Bool
    @OptionGroup(title: "Configuration") var options: ConfigurationOptions

    func validate() -> [String] {
        var problems: [String] = []
        if to == nil && !acceptPartitions && watermark == nil {
            problems.append("--to is missing (or --watermark, or --accept-partitions)")
        }
        if let watermark, WatermarkTarget(watermark) == nil {
            problems.append(
                "--watermark \(watermark) is not allowed; it must be now, \(GivenTime.allowed)")
        }
        if watermark != nil && acceptPartitions {
            problems.append("--watermark does not go with --accept-partitions, which sets it to now")
        }
        if repeatTimers && watermark == nil { problems.append("--repeat-timers goes with --watermark") }
        if let to, OffsetTarget(to) == nil {
            problems.append(
                "--to \(to) is not allowed; it must be an offset, earliest, latest, \(GivenTime.allowed)"
            )
        }
        if startPosition(now: .epoch) == nil, !roles.includes(.pipeline) {
            problems.append(
                "--roles \(roles.argumentText): of these only --to earliest, --to latest and --to a time can be set")
        }
        return problems + partition.filter { $0 < 0 }.map { "--partition \($0) is not allowed; it must be 0 or more" }
    }

    func run() async throws {
        let configuration = try options.checked()
        let now = WallClock.now
        let roles = try roles.roles(configuration)
        let first = try FirstOffsets(of: roles, configuration, at: startPosition(now: now), now: now)
        guard roles.contains(.pipeline) else {
            Terminal.write(first.text)
            guard !dryRun, !first.isEmpty else { return Terminal.write("Nothing was committed.\n") }
            return try first.commit(configuration)
        }
        let patience = configuration.transactionTimeout + .seconds(10)
        var consumer = try Consumer(
            assigning: configuration.kafka, group: configuration.groupID,
            logger: configuration.clientSink)
        let positions = try consumer.explaining { consumer throws(KafkaError) in
            try GroupPositions(of: configuration.topics.events, consumer, timeout: patience)
        }
        let move = OffsetMove(
            positions, targets: try targets(positions, consumer, now: now, timeout: patience),
            watermarks: watermarks(positions, now: now), acceptPartitions: acceptPartitions,
            mayResend: resend || dryRun, mayRepeatTimers: repeatTimers || dryRun, now: now)
        let horizon = configuration.orders.horizon
        let firsts = try consumer.offsets(at: move.rememberedFrom(horizon: horizon), timeout: patience)
        Terminal.write(first.text + move.text + move.ageText(horizon: horizon, firsts: firsts))
        guard move.problems.isEmpty else { throw CommandFailure(.configuration, lines: move.problems) }
        guard !dryRun, !move.steps.isEmpty || !first.isEmpty else { return Terminal.write("Nothing was committed.\n") }
        try first.commit(configuration)
        guard !move.steps.isEmpty else { return }
        try consumer.commit(move.commits, for: configuration.groupID, configuration)
        Terminal.write("Committed for group \(configuration.groupID).\n")
    }

    /// Where other groups begin; nil where only that of the events is meant.
    private func startPosition(now: WallTime) -> PipelineConfiguration.StartPosition? {
        guard partition.isEmpty, let to else { return nil }
        return .init(to, now: now)
    }

    private func targets(
        _ positions: GroupPositions, _ consumer: borrowing Consumer, now: WallTime, timeout: Duration
    ) throws -> [TopicPartition: Offset] {
        let unknown = partition.filter { number in
            !positions.partitions.contains { $0.id.partition == Int32(clamping: number) }
        }
        guard unknown.isEmpty else {
            throw CommandFailure(
                .usage,
                lines: unknown.map {
                    "--partition \($0): the topic has \(positions.partitions.count) partitions, from 0"
                })
        }
        guard let to, let target = OffsetTarget(to) else { return [:] }
        let moved = chosen(positions)
        switch target {
        case .earliest: return Dictionary(uniqueKeysWithValues: moved.map { ($0.id, $0.start) })
        case .latest: return Dictionary(uniqueKeysWithValues: moved.map { ($0.id, $0.end) })
        case .offset(let offset): return Dictionary(uniqueKeysWithValues: moved.map { ($0.id, offset) })
        case .time(let time):
            return try consumer.offsets(at: time.time(now: now), of: moved.map(\.id), timeout: timeout)
        }
    }

    private func watermarks(_ positions: GroupPositions, now: WallTime) -> [TopicPartition: WallTime] {
        guard let watermark, let target = WatermarkTarget(watermark) else { return [:] }
        let time =
            switch target {
            case .now: now
            case .time(let time): time.time(now: now)
            }
        return Dictionary(uniqueKeysWithValues: chosen(positions).map { ($0.id, time) })
    }

    /// The partitions that --partition names, or all.
    private func chosen(_ positions: GroupPositions) -> [GroupPositions.Partition] {
        positions.partitions.filter { partition.isEmpty || partition.contains(Int($0.id.partition)) }
    }
}
