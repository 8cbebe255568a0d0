import CRDKafka

/// A consumer with separate control and data queues: group events are served even while no records are read, so its
/// owner applies backpressure by not reading.
///
/// - *Control* (``nextEvent(timeout:)``): rebalances, errors, statistics.
/// - *Data* (``read(limit:timeout:)``): records and ends of partitions. Records never arrive on the control queue.
///
/// One thread owns it. Reading either queue counts as polling for `max.poll.interval.ms`. It never commits by itself.
/// Without ``close(timeout:)`` it is freed at once and does not leave its group, as if the process had died.
public struct Consumer: ~Copyable {
    let handle: ClientHandle
    var queues: ConsumerQueues
    /// The group's id; "" without a group.
    public let group: String
    /// The partitions assigned now.
    public internal(set) var assignment: [TopicPartition] = []
    /// Batches that are never read: where a partition is assigned or sought to the first offset of one, a record in its place
    /// comes next, and then what is behind it.
    package var passes: [TopicPartition: [ClosedRange<Int64>]] = [:]
    /// Those whose records ``fill(_:from:limit:maxBytes:timeout:)`` gives next.
    var owed: [UnreadableBatch] = []
    /// Hears of a batch that cannot be read while its end is searched, and then of nil. On the owner's thread.
    package var onPassing: (@Sendable (RecordPosition?) -> Void)?

    /// Creates a member of a group.
    ///
    /// - Parameters:
    ///   - settings: the user's; see ``ClientSettings``.
    ///   - instance: its `group.instance.id` (static membership).
    ///   - topics: topics that get a data queue of their own, which are numbered in this order; empty: all records come
    ///     to one queue. Each queue has the limits of `queued.min.messages` and `queued.max.messages.kbytes` for itself.
    ///   - sink: receives librdkafka's log lines, on librdkafka's threads.
    /// - Throws: `.configuration`. An unreachable broker is reported later, as an event.
    public init(
        settings: Settings, group: String, instance: String? = nil, queuesOf topics: [String] = [],
        logger sink: @escaping ClientLog.Sink = { _ in }
    ) throws(KafkaError) {
        try self.init(
            settings: settings, group: group, instance: instance, queuesOf: topics, isCoPartitioned: false, signal: nil,
            logger: sink)
    }

    /// - Parameters:
    ///   - isCoPartitioned: whether each member gets the same partitions of every topic, which all have the same number of
    ///     them. Not for a static member: its topics may change.
    ///   - signal: is waited for by ``waitForRecords(in:timeout:)``, and raised by others too.
    package init(
        settings: Settings, group: String, instance: String?, queuesOf topics: [String], isCoPartitioned: Bool,
        signal: QueueSignal?, logger sink: @escaping ClientLog.Sink
    ) throws(KafkaError) {
        // A static member that comes back with more topics gets its old partitions, unless the group's protocol changes
        // (docs/kafka.md 22).
        let strategy = isCoPartitioned ? "range" : topics.count > 1 ? "roundrobin,range" : nil
        var fixed = ClientSettings.consumerFixed
        fixed["group.id"] = group
        fixed["group.instance.id"] = instance
        fixed["isolation.level"] = "read_committed"
        if let strategy { fixed["partition.assignment.strategy"] = strategy }
        try self.init(
            merged: ClientSettings.merged(
                fixed: fixed, user: settings, defaults: ClientSettings.consumerDefaults, for: .consumer),
            as: .member, group: group, queuesOf: topics, signal: signal, sink: sink)
    }

    /// Creates a reader that assigns its own partitions and joins no group.
    ///
    /// - Parameters:
    ///   - settings: may also set `auto.offset.reset` (here `earliest` by default) and `isolation.level`.
    ///   - group: the group whose offsets ``committed(_:timeout:)`` reads and ``commit(_:timeout:)`` writes; the reader
    ///     does not join it.
    public init(
        assigning settings: Settings, group: String? = nil, logger sink: @escaping ClientLog.Sink = { _ in }
    ) throws(KafkaError) {
        var fixed = ClientSettings.consumerFixed
        // librdkafka assigns partitions only to a client with a group id; any id will do.
        fixed["group.id"] = group ?? "carillon-reader"
        let defaults = ClientSettings.consumerDefaults.merging(["auto.offset.reset": "earliest"]) { $1 }
        try self.init(
            merged: ClientSettings.merged(fixed: fixed, user: settings, defaults: defaults, for: .consumer),
            as: .reader, group: group ?? "", queuesOf: [], signal: nil, sink: sink)
    }

    init(
        merged settings: Settings, as client: KafkaError.Client, group: String, queuesOf topics: [String],
        signal: QueueSignal?,
        sink: @escaping ClientLog.Sink
    ) throws(KafkaError) {
        let events = RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_STATS
        let handle = try ClientHandle(
            client, settings: settings, callbacks: ClientCallbacks(sink: sink), events: events)
        // Errors and statistics arrive on the consumer's queue, too.
        rd_kafka_poll_set_consumer(handle.pointer)
        queues = try ConsumerQueues(of: handle, topics: topics, signal: signal)
        self.handle = handle
        self.group = group
    }

    public var fatalError: KafkaError? { handle.fatalError }

    /// The member id that the group's coordinator assigned; nil before the first join.
    public var memberID: String? {
        guard let text = rd_kafka_memberid(handle.pointer) else { return nil }
        defer { rd_kafka_mem_free(handle.pointer, text) }
        let id = String(cString: text)
        return id.isEmpty ? nil : id
    }

    /// Leaves the group (see ``leave(timeout:)``) and frees the client. Records that are still in a ``RecordBatch``
    /// stay valid and keep the client alive.
    public consuming func close(timeout: Duration = .seconds(10)) {
        leave(timeout: timeout)
    }

    /// Ends the membership; the coordinator reassigns the partitions at once. A static member does not leave: its
    /// successor takes its place (docs/kafka.md 21). Nothing can be read afterwards: free the consumer next.
    ///
    /// Freeing the consumer is not enough: a client that a ``RecordBatch`` keeps alive sends heartbeats until
    /// `max.poll.interval.ms`, and the group would wait for it. Answers the rebalance that leaving causes, so commit
    /// first. Gives up after `timeout`, and at once for a consumer with a fatal error.
    package mutating func leave(timeout: Duration) {
        let deadline = ContinuousClock.now + timeout
        if let error = rd_kafka_consumer_close_queue(handle.pointer, queues.control) {
            // A consumer with a fatal error cannot leave its group.
            rd_kafka_error_destroy(error)
            return
        }
        while rd_kafka_consumer_closed(handle.pointer) == 0, .now < deadline {
            guard let event = rd_kafka_queue_poll(queues.control, 20) else { continue }
            if rd_kafka_event_type(event) == RD_KAFKA_EVENT_REBALANCE { _ = rd_kafka_assign(handle.pointer, nil) }
            rd_kafka_event_destroy(event)
        }
    }
}
