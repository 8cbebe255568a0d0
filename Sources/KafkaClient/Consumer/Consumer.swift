import CRDKafka

/// A consumer with two queues, so that the group's events are served while nothing is read, and backpressure is to stop reading.
///
/// - *Control* (``nextEvent(timeout:)``): rebalances, errors, statistics.
/// - *Data* (``read(limit:timeout:)``): records, and marks for the end of a partition. No record ever comes over the control queue.
///
/// One thread owns it. Calling either queue counts as polling for `max.poll.interval.ms`. It commits nothing by itself. Without ``close(timeout:)`` it is abandoned: freed at
/// once, as if the process had died.
public struct Consumer: ~Copyable {
    let handle: ClientHandle
    var queues: ConsumerQueues
    /// The group's name; "" without one.
    public let group: String
    /// What is assigned now.
    public internal(set) var assignment: [TopicPartition] = []

    /// A member of a group.
    ///
    /// - Parameters:
    ///   - settings: the user's; see ``ClientSettings``.
    ///   - instance: its `group.instance.id` (static membership).
    ///   - sink: gets librdkafka's log lines, on its threads.
    /// - Throws: `.configuration`. A broker that cannot be reached is an event later, not an error here.
    public init(
        settings: Settings, group: String, instance: String? = nil, logger sink: @escaping ClientLog.Sink = { _ in }
    ) throws(KafkaError) {
        var fixed = ClientSettings.consumerFixed
        fixed["group.id"] = group
        fixed["group.instance.id"] = instance
        fixed["isolation.level"] = "read_committed"
        try self.init(
            merged: ClientSettings.merged(
                fixed: fixed, user: settings, defaults: ClientSettings.consumerDefaults, for: .consumer),
            group: group, sink: sink)
    }

    /// A reader that assigns its partitions itself and is a member of no group.
    ///
    /// - Parameters:
    ///   - settings: `auto.offset.reset` (here `earliest` by default) and `isolation.level` are free.
    ///   - group: the group whose offsets ``committed(_:timeout:)`` and ``commit(_:timeout:)`` mean; nothing joins it.
    public init(
        assigning settings: Settings, group: String? = nil, logger sink: @escaping ClientLog.Sink = { _ in }
    ) throws(KafkaError) {
        var fixed = ClientSettings.consumerFixed
        // librdkafka assigns to members of a group only; a name is enough.
        fixed["group.id"] = group ?? "carillon-reader"
        let defaults = ClientSettings.consumerDefaults.merging(["auto.offset.reset": "earliest"]) { $1 }
        try self.init(
            merged: ClientSettings.merged(fixed: fixed, user: settings, defaults: defaults, for: .consumer),
            group: group ?? "", sink: sink)
    }

    private init(merged settings: Settings, group: String, sink: @escaping ClientLog.Sink) throws(KafkaError) {
        let events = RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_STATS
        let handle = try ClientHandle(
            RD_KAFKA_CONSUMER, settings: settings, callbacks: ClientCallbacks(sink: sink), events: events)
        // Errors and statistics come over the consumer's queue too.
        rd_kafka_poll_set_consumer(handle.pointer)
        queues = try ConsumerQueues(of: handle)
        self.handle = handle
        self.group = group
    }

    public var fatalError: KafkaError? { handle.fatalError }

    /// The name that the group's coordinator gave; nil before the first join.
    public var memberID: String? {
        guard let text = rd_kafka_memberid(handle.pointer) else { return nil }
        defer { rd_kafka_mem_free(handle.pointer, text) }
        let id = String(cString: text)
        return id.isEmpty ? nil : id
    }

    /// Leaves the group and frees everything, as ``leave(timeout:)`` does. Records that are still in a ``RecordBatch`` stay valid, and keep the client alive.
    public consuming func close(timeout: Duration = .seconds(10)) {
        leave(timeout: timeout)
    }

    /// Ends the membership: the coordinator gives the partitions to others at once. A static member leaves nothing, and its successor takes its place (kafka-rules 21). Only for a consumer that
    /// is freed next; nothing can be read any more.
    ///
    /// The group goes by this and not by the memory: a client that a ``RecordBatch`` keeps alive would send heartbeats until `max.poll.interval.ms`, and the group would wait for it.
    /// A rebalance that this causes is answered here: commit before. Takes `timeout` at most; what is not done then is abandoned, and so is a consumer with a fatal error.
    package mutating func leave(timeout: Duration) {
        let deadline = ContinuousClock.now + timeout
        if let error = rd_kafka_consumer_close_queue(handle.pointer, queues.control) {
            // A fatal consumer cannot leave; it is abandoned.
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
