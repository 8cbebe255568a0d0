/// The core without Kafka: records as lines of JSON in, what the pipeline would write out.
///
/// Pure: the same lines and the same settings give the same bytes. Memory grows with the longest line, the subscriptions
/// and what is remembered of orders and requests, not with the input.
///
/// The states of orders and requests are folded for each partition that the lines name. If a time to play until is given, each partition
/// has a clock of its own, which its records' timestamps advance: timers fire at the moment at which they are due, between
/// the records before and after it, and after the last record up to that time.
package struct RenderRun: ~Copyable {
    /// More partitions than any topic has: a line with a greater number gets no state.
    private static let maxPartitions: Int32 = 100_000

    private var core: Flow
    /// Of the line at hand, by what its topic is.
    private var batch: EventBatch
    private var requests: EventBatch
    private var broadcasts: BroadcastRender
    private var line = RecordLine()
    private let topics: PipelineConfiguration.Topics
    /// The topic of a bare value.
    private let bareTopic: String
    private let until: WallTime?
    private let findings: RequestFindings?
    private var lineNumber: Int64 = 0
    /// The offset up to which each partition has been read; a partition in here is being folded.
    private var reached: [Int32: Int64] = [:]
    /// The partitions of requests that are being folded.
    private var requested: Set<Int32> = []

    /// - Parameters:
    ///   - resolver: finds the devices of events and requests instead of the subscriptions.
    ///   - topic: of bare values; nil: the events'.
    ///   - until: the time up to which timers fire; nil: none does.
    ///   - findings: gets everything that is wrong with the line at hand, if it is a request or a broadcast.
    package init(
        _ configuration: PipelineConfiguration, subscriptions: SubscriptionTable, resolver: (any TokenResolver)? = nil,
        topic: String? = nil, until: WallTime?, findings: RequestFindings? = nil
    ) throws {
        topics = configuration.topics
        let recipients = resolver.map { RecipientSource.resolver($0) } ?? .table(subscriptions)
        var core = try Flow(configuration, recipients: recipients, findings: findings)
        try core.beginTransaction(clock: .epoch, boundsTimes: false)
        let broadcasts = try BroadcastRender(configuration, subscriptions: subscriptions, findings: findings)
        self.core = core
        self.broadcasts = broadcasts
        batch = EventBatch(.orders, topic: topics.events)
        requests = EventBatch(.requests, topic: topics.requests)
        bareTopic = topic ?? configuration.topics.events
        self.until = until
        self.findings = findings
    }

    /// The oddities of the events that were rendered since the last call.
    package mutating func takeNotes() -> ExtractionNotes { core.takeNotes().orders }

    /// Renders every line of a file; `-` is standard input. A bare event's offset is the number of its line, from 0,
    /// counted over all files.
    package mutating func render<Sink: RenderSink & ~Copyable>(path: String, into sink: inout Sink) throws {
        var lines = try LineReader(path: path)
        while let text = try lines.next() {
            defer { lineNumber += 1 }
            if text.isEmpty { continue }
            findings?.removeAll()
            line.read(text, bareTopic: bareTopic, bareOffset: lineNumber)
            if line.topic == topics.broadcasts {
                sink.begin(line, number: lineNumber + 1)
                try broadcasts.render(line, into: &sink)
                continue
            }
            switch topics.source(of: line.topic) {
            case .requests:
                line.fill(&requests)
                try renderRequest(into: &sink)
            // A record of any other topic is an event: a topic is often renamed on its way into a file.
            case .orders, nil:
                line.fill(&batch)
                try renderRecord(of: line.partition, at: line.offset, into: &sink)
            }
        }
        try sink.flush()
    }

    /// Ends the input: what is still due fires, in the order of time and partition.
    package mutating func finish<Sink: RenderSink & ~Copyable>(into sink: inout Sink) throws {
        guard let until else { return }
        let partitions = reached.keys.sorted()
        while let next = partitions.min(by: { core.orders.nextDue(in: $0) < core.orders.nextDue(in: $1) }),
            core.orders.nextDue(in: next) <= until
        {
            try play(next, until: core.orders.nextDue(in: next), into: &sink)
        }
        try sink.flush()
    }

    private mutating func renderRecord<Sink: RenderSink & ~Copyable>(
        of partition: Int32, at offset: Int64, into sink: inout Sink
    ) throws {
        if reached[partition] == nil, (0..<Self.maxPartitions).contains(partition) {
            core.orders.assign(partition, watermark: TimerWatermark(.epoch), newest: .epoch)
            reached[partition] = offset
        }
        let due = core.orders.nextDue(in: partition)
        _ = core.extract(&batch, from: 0)
        // Timers due before this record fire first. Its time is known only after extraction: a bare event has it inside.
        if let until, due < core.orders.newest(in: partition) {
            let time = min(core.orders.newest(in: partition) - 1, until)
            core.rollBack()
            try play(partition, until: time, into: &sink)
            _ = core.extract(&batch, from: 0)
        }
        sink.begin(line, number: lineNumber + 1)
        _ = try core.emit(batch, 0..<1, limit: .max, into: &sink)
        core.commit()
        if reached[partition] != nil { reached[partition] = offset < .max ? offset + 1 : offset }
    }

    /// A request expires by the time of its own record, as with a pipeline that is never late.
    private mutating func renderRequest<Sink: RenderSink & ~Copyable>(into sink: inout Sink) throws {
        core.clock = line.timestamp ?? .epoch
        if (0..<Self.maxPartitions).contains(line.partition), requested.insert(line.partition).inserted {
            core.requests.states.assign(line.partition, newest: .epoch)
        }
        _ = core.extract(&requests, from: 0)
        sink.begin(line, number: lineNumber + 1)
        _ = try core.emit(requests, 0..<1, limit: .max, into: &sink)
        core.commit()
    }

    private mutating func play<Sink: RenderSink & ~Copyable>(
        _ partition: Int32, until time: WallTime, into sink: inout Sink
    ) throws {
        sink.beginTimers()
        try core.play(partition, until: time, offset: reached[partition] ?? 0, into: &sink)
    }
}

extension SubscriptionTable {
    /// Reads subscriptions from a file: values as in notifications.subscriptions, a line each, or `kcat -J` envelopes,
    /// whose null payload unsubscribes. Their offsets are the numbers of the lines.
    ///
    /// - Returns: the lines that are not subscriptions, and why.
    package func load(_ path: String) throws -> [String] {
        var lines = try LineReader(path: path)
        var line = RecordLine()
        var problems: [String] = []
        var number: Int64 = 0
        while let text = try lines.next() {
            number += 1
            if text.isEmpty { continue }
            line.read(text, bareTopic: "", bareOffset: number)
            do {
                let key = try line.key.map { Array($0) } ?? Array(Subscription.decode(value: Array(text)).key.utf8)
                try key.withUnsafeBytes { key in
                    let record = SubscriptionRecord(partition: 0, offset: number, key: key, value: line.value)
                    let change = try apply([record], nextOffsets: [number], at: .epoch)
                    problems += change.examples.flatMap(\.problems).map { "line \(number): \($0)" }
                }
            } catch let error as Subscription.Invalid {
                problems += error.problems.map { "line \(number): \($0)" }
            }
        }
        return problems
    }
}
