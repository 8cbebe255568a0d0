import KafkaClient

/// Waits for the broker at the start and checks that it has what the pipeline needs.
struct BrokerProbe: ~Copyable {
    private let context: WorkerContext
    private let logger: Logger
    /// The broker does not answer queries for topic settings, as the embedded cluster's broker: it is queried once.
    private var isSilent = false
    /// How many partitions each topic that was waited for has.
    private var partitions: [String: Int] = [:]
    /// Each topic's settings, once the broker has answered.
    private var settings: [String: [String: String]] = [:]

    init(context: WorkerContext, logger: Logger) {
        self.context = context
        self.logger = logger
    }

    /// Waits until every topic answers. A missing topic, a refused login or ACL ends the wait after 30 s.
    mutating func waitForTopics(_ topics: [String]) throws {
        var consumer = try Consumer(assigning: context.configuration.kafka, logger: logger.clientSink)
        partitions = try context.host.untilItWorks(logger) { () throws(KafkaError) in
            try consumer.partitionCounts(of: topics)
        }
    }

    /// Says what the orders may take of the memory that this process may use.
    func compareOrdersWithMemory() {
        guard let count = partitions[context.configuration.topics.events] else { return }
        let (line, isTooMuch) = OrderMemory(context.configuration).text(partitions: count)
        if isTooMuch { logger.warning("\(line)") } else { logger.info("\(line)") }
    }

    /// Logs what is known of the cluster, once it has answered, and keeps its id.
    func introduce() {
        guard let admin = try? Admin(settings: context.configuration.kafka, logger: logger.clientSink),
            let cluster = try? admin.cluster(timeout: .seconds(5))
        else { return }
        context.cluster = cluster.clusterID
        logger.info(
            "the cluster answers",
            [
                "brokers": "\(cluster.brokers.count)", "cluster": cluster.clusterID ?? "unknown",
                "kafka": admin.brokerVersion(timeout: .seconds(2)) ?? "unknown",
            ])
    }

    /// The subscriptions topic as it is now, to validate a stored table against.
    mutating func subscriptionTopic() throws -> SubscriptionTopic {
        let name = context.configuration.topics.subscriptions
        let settings = context.configuration.kafka
        let consumer = try Consumer(assigning: settings, logger: logger.clientSink)
        let (starts, ends) = try context.host.untilItWorks(logger) { () throws(KafkaError) -> ([Int64], [Int64]) in
            let partitions = try consumer.partitions(of: name, timeout: .seconds(5))
            let starts = try consumer.startOffsets(partitions, timeout: .seconds(5))
            let ends = try consumer.endOffsets(partitions, timeout: .seconds(5))
            return (partitions.map { starts[$0]?.value ?? 0 }, partitions.map { ends[$0]?.value ?? 0 })
        }
        return SubscriptionTopic(
            name: name, cluster: consumer.clusterID(timeout: .seconds(5)), startOffsets: starts, endOffsets: ends,
            deleteRetention: deleteRetention(of: name))
    }

    /// Compares the log with the records that a stored table was built from (ADR 30).
    ///
    /// - Returns: what is different; nil where nothing is known to be.
    func difference(of position: TablePosition, in topic: SubscriptionTopic) throws -> String? {
        func byPartition<Value>(_ values: [Value]) -> [TopicPartition: Value] {
            Dictionary(
                uniqueKeysWithValues: values.enumerated().map {
                    (TopicPartition(topic: topic.name, partition: Int32($0.offset)), $0.element)
                })
        }
        let judgements = try context.host.untilItWorks(logger) { () throws(KafkaError) in
            try LogCheck.judge(
                byPartition(position.records).filter { !context.holds.isSuspect($0.key) },
                starts: byPartition(topic.startOffsets.map { Offset($0) }),
                ends: byPartition(topic.endOffsets.map { Offset($0) }), settings: context.configuration.kafka,
                logger: logger.clientSink)
        }
        return judgements.sorted { $0.key < $1.key }.lazy.compactMap { $0.value.difference(in: $0.key) }.first
    }

    /// Kafka's default is assumed where the broker does not report the setting (an ACL may forbid it).
    private mutating func deleteRetention(of topic: String) -> Duration {
        do {
            if let found = try setting("delete.retention.ms", of: topic) { return found }
        } catch {
            logger.notice("delete.retention.ms of \(topic) is not known, one day is assumed: \(error)")
        }
        return .seconds(86_400)
    }

    /// Timers need the state of orders, and folding it again takes twice the horizon of the log.
    ///
    /// - Throws: ``PipelineError/decisionNeeded(_:)`` where the topic keeps less.
    mutating func checkEventsRetention() throws(PipelineError) {
        let topic = context.configuration.topics.events
        let horizon = context.configuration.orders.horizon
        guard context.configuration.orders.schedule != nil else { return }
        let retention: Duration?
        do {
            retention = try setting("retention.ms", of: topic)
        } catch {
            return logger.notice("retention.ms of \(topic) is not known, it is assumed to be long enough: \(error)")
        }
        // -1: without limit.
        guard let retention, retention >= .zero, retention < horizon * 2 else { return }
        throw .decisionNeeded(
            "\(topic) keeps its events for \(ConfigurationText.text(retention)) (retention.ms), and timers need twice "
                + "state.horizon (\(ConfigurationText.text(horizon))): keep them longer (kafka-configs.sh --alter --entity-type "
                + "topics --entity-name \(topic) --add-config retention.ms=\((horizon * 2).wholeMilliseconds)), or set "
                + "schedule=off to go without timers, or a shorter state.horizon")
    }

    /// Warns where the broker accepts records from the future; says nothing where it does not tell.
    mutating func checkRecordTimes() {
        let key = "message.timestamp.after.max.ms"
        for source in context.sources {
            let topic = context.configuration.topics.topic(of: source)
            guard let settings = try? configuration(of: topic), settings["message.timestamp.type"] != "LogAppendTime",
                !(settings[key].flatMap { Int64($0) }.map { $0 <= RecordTime.tolerance } ?? false)
            else { continue }
            logger.warning(
                "\(topic) accepts records from the future: each counts as an hour after the clock, and what is known of "
                    + "\(source) may expire that much early; set \(key)=\(RecordTime.tolerance) (Kafka 3.6 or newer)")
        }
    }

    /// Warns of topics whose batches have no bound; says nothing of those of which the broker does not tell.
    mutating func checkBatches(of topics: [String]) {
        for topic in topics {
            guard let settings = try? configuration(of: topic),
                let line = PipelineConfiguration.unboundedBatches(of: topic, settings)
            else { continue }
            logger.warning("\(line)")
        }
    }

    /// A topic's setting, in milliseconds; nil where there is none.
    private mutating func setting(_ key: String, of topic: String) throws(KafkaError) -> Duration? {
        try configuration(of: topic)?[key].flatMap { Int64($0) }.map { .milliseconds($0) }
    }

    /// A topic's settings, asked for once; nil where the broker does not answer such queries.
    private mutating func configuration(of topic: String) throws(KafkaError) -> [String: String]? {
        if let known = settings[topic] { return known }
        guard !isSilent else { return nil }
        do throws(KafkaError) {
            let admin = try Admin(settings: context.configuration.kafka, logger: logger.clientSink)
            let found = try admin.describe(topics: [topic], timeout: .seconds(5)).first?.configuration
            settings[topic] = found
            return found
        } catch {
            isSilent = error.kind == .timedOut
            throw error
        }
    }
}
