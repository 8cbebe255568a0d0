import Extraction
import FanOut

/// The core without Kafka: records as lines of JSON in, what the pipeline would write out.
///
/// Pure: the same lines and the same settings give the same bytes. Memory grows with the longest line and with the
/// subscriptions, not with the input.
package struct RenderRun: ~Copyable {
    private var core: PipelineCore
    private var writer: RecordLineWriter
    private var batch: EventBatch
    private var line = RecordLine()
    private let eventsTopic: String
    private var lineNumber: Int64 = 0

    package init(
        rules: ExtractionRules, rendering: RenderSettings, subscriptions: SubscriptionTable, maxAge: Duration,
        maxDevicesPerEvent: Int, topics: PipelineConfiguration.Topics, explains: Bool, output: Int32
    ) throws {
        let fanOut = try FanOut(
            audienceRule: PlaceAudience(), recipients: .table(subscriptions), maxAge: maxAge,
            maxDevices: maxDevicesPerEvent)
        var core = PipelineCore(
            rules: rules, orders: OrderRules(), rendering: rendering, maxDevicesPerEvent: maxDevicesPerEvent,
            fanOut: fanOut)
        try core.beginTransaction()
        self.core = core
        writer = RecordLineWriter(descriptor: output, topics: topics, explains: explains)
        batch = EventBatch(topic: topics.events)
        eventsTopic = topics.events
    }

    /// What was rendered so far.
    package var counts: Counts { core.counts }

    /// Renders every line of a file; `-` is standard input. A bare event's offset is the number of its line, from 0,
    /// counted over all files.
    package mutating func render(path: String) throws {
        var lines = try LineReader(path: path)
        while let text = try lines.next() {
            defer { lineNumber += 1 }
            if text.isEmpty { continue }
            line.read(text, bareTopic: eventsTopic, bareOffset: lineNumber)
            batch.removeAll()
            batch.headers.append(contentsOf: line.headers)
            batch.records.append(
                EventRecord(
                    partition: line.partition, offset: line.offset,
                    timestamp: line.timestamp.map(EventTime.init(milliseconds:)), key: line.key, value: line.value,
                    headers: line.headers.indices))
            batch.topic = line.topic
            writer.eventTopic = line.topic
            _ = core.extract(&batch, from: 0)
            _ = try core.emit(batch, 0..<1, limit: .max, into: &writer)
        }
        try writer.flush()
    }

    /// Reads subscriptions into a table: values as in notifications.subscriptions, a line each, or `kcat -J` envelopes,
    /// whose null payload unsubscribes.
    ///
    /// - Returns: the lines that are no subscription, and why.
    package static func load(_ path: String, into table: SubscriptionTable) throws -> [String] {
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
                    let change = try table.apply([record], nextOffsets: [number], at: EventTime(milliseconds: 0))
                    problems += change.examples.flatMap(\.problems).map { "line \(number): \($0)" }
                }
            } catch let error as Subscription.Invalid {
                problems += error.problems.map { "line \(number): \($0)" }
            }
        }
        return problems
    }
}
