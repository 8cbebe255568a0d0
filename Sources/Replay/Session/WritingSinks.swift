import KafkaClient
import NotificationPayload

/// Writes the records for the dispatch topic and the dead letters as lines of JSON, as `carillon render` does.
package struct LineSink: ~Copyable, ReplaySink {
    private var writer: RecordLineWriter
    private let topics: PipelineConfiguration.Topics
    package private(set) var records = 0

    package init(descriptor: Int32, topics: PipelineConfiguration.Topics, explains: Bool) {
        writer = RecordLineWriter(descriptor: descriptor, topics: topics, explains: explains)
        self.topics = topics
    }

    /// Writes what is buffered.
    package mutating func flush() throws { try writer.flush() }

    package mutating func begin(_ step: JournalStep?, of source: SourceKind, areTimers: Bool) {
        writer.eventTopic = areTimers ? EventBatch.scheduleTopic : topics.topic(of: source)
    }

    package mutating func dispatch(
        _ record: DispatchRecord, for notification: Notification, from event: EventRecord
    ) throws {
        records += 1
        try writer.dispatch(record, for: notification, from: event)
    }

    package mutating func deadLetter(
        _ letter: DeadLetter, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
    ) throws {
        records += 1
        try writer.deadLetter(letter, key: key, value: value, headers: headers, from: event)
    }

    package mutating func suppress(_ event: EventRecord, because reason: SuppressionReason) {
        writer.suppress(event, because: reason)
    }

    package mutating func drop(_ timer: EventRecord, _ type: EventType, because drop: TimerDrop) {
        writer.drop(timer, type, because: drop)
    }

    package mutating func cancelTimers(_ event: EventRecord, timers: Int, because drop: TimerDrop) {
        writer.cancelTimers(event, timers: timers, because: drop)
    }
}

/// Writes the records for the dispatch topic to another topic, each with the header `replay`.
package struct TopicSink: ~Copyable, ReplaySink {
    private var producer: Producer
    private let topic: ProducerTopic
    private let id: [UInt8]
    private var headers: [HeaderView] = []
    package private(set) var records = 0
    /// How many of the last offsets of each partition are checked.
    private static let tailLength: Int64 = 100

    /// - Parameters:
    ///   - name: of a topic that nobody delivers from.
    ///   - id: of the replay, for the header.
    /// - Throws: ``ReplayRefusal`` for a topic of the pipeline itself, or one that others write to.
    package init(_ name: String, id: String, _ configuration: PipelineConfiguration, logger: @escaping ClientLog.Sink)
        throws
    {
        let topics = configuration.topics
        let delivered = [
            topics.dispatch, topics.broadcastDispatch, PipelineConfiguration.Topics().dispatch,
            PipelineConfiguration.Topics().broadcastDispatch,
        ]
        if delivered.contains(name) {
            throw ReplayRefusal(
                "\(name) is what is delivered: writing to it would notify people, which 'carillon replay redrive' does, and "
                    + "this command cannot")
        }
        let own = [
            topics.events, topics.requests, topics.broadcasts, topics.subscriptions, topics.deadLetters, topics.journal,
            topics.broadcastJournal,
        ]
        if own.contains(name) {
            throw ReplayRefusal("\(name) is one of the pipeline's own topics; choose another one")
        }
        var producer = try Producer(settings: configuration.kafka, logger: logger)
        let topic = try producer.topic(name)
        try Self.checkRecords(of: name, configuration, logger)
        self.producer = producer
        self.topic = topic
        self.id = Array(id.utf8)
    }

    package mutating func dispatch(
        _ record: DispatchRecord, for notification: Notification, from event: EventRecord
    ) throws {
        records += 1
        headers.removeAll(keepingCapacity: true)
        for header in record.headers { headers.append(HeaderView(name: header.name, value: header.value)) }
        try id.withUnsafeBytes { id in
            headers.append(HeaderView(name: DispatchHeader.replay.bytes, value: id))
            try headers.withUnsafeBufferPointer { headers in
                try producer.produce(to: topic, key: record.key, value: record.value, headers: headers, tag: 0)
            }
        }
        if records % 1_000 == 0 { try takeFailures() }
    }

    /// The settings may be those of another pipeline than the one that owns the topic, so its contents decide.
    private static func checkRecords(
        of name: String, _ configuration: PipelineConfiguration, _ logger: @escaping ClientLog.Sink
    ) throws {
        var log = try KafkaLog(configuration, logger: logger, isStopped: { false })
        let tails = try log.bounds(of: name).mapValues {
            $0.clamped(to: max(0, $0.upperBound - tailLength)..<Int64.max)
        }
        try log.read(tails, of: name) { records, indices in
            for index in indices {
                let headers = records.headers[records[index].headers]
                guard headers.contains(where: { DispatchHeader.replay.matches($0.name) }) else {
                    throw ReplayRefusal(
                        "\(name) has records that no replay has written, so it may be what is delivered: choose a topic that is "
                            + "only for this; 'carillon replay redrive' is what notifies")
                }
            }
        }
    }

    /// Waits until everything is written.
    package mutating func finish() throws {
        try producer.flush(timeout: .seconds(60))
        try takeFailures()
    }

    private mutating func takeFailures() throws {
        producer.poll(timeout: .zero)
        if let failure = producer.takeFailures().first { throw failure.error }
    }
}
