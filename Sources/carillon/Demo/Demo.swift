import Foundation
import KafkaClient
import Pipeline
import Telemetry

/// The pipeline's main job on an embedded cluster, from empty topics to drained workers.
///
/// All workers join before the samples are written and none leaves before the end, because the mock loses a
/// transaction's offsets: a rebalance in between would process everything again.
struct Demo {
    static let partitions = 4
    let cluster: MockCluster
    let configuration: PipelineConfiguration
    let logger: Logger

    init(workers: Int, logLevel: Logger.Level) throws {
        cluster = try MockCluster(brokers: 1)
        let state = FileManager.default.temporaryDirectory.path + "/carillon-demo-\(getpid())"
        var configuration = PipelineConfiguration(
            kafka: ["bootstrap.servers": cluster.bootstrapServers], stateDirectory: state, rules: try .init(),
            instanceID: "demo", workers: workers)
        configuration.from = .earliest
        configuration.sessionTimeout = .seconds(6)
        configuration.topics.requests = "notifications.requests"
        self.configuration = configuration
        logger = Logger(label: "carillon", level: logLevel)
        let topics = configuration.topics
        try cluster.createTopic(topics.events, partitions: Self.partitions)
        try cluster.createTopic(topics.requests, partitions: Self.partitions)
        try cluster.createTopic(topics.subscriptions, partitions: 2)
        try cluster.createTopic(topics.dispatch, partitions: Self.partitions)
        try cluster.createTopic(topics.deadLetters, partitions: 1)
        try cluster.createTopic(topics.journal, partitions: 1)
    }

    /// Runs the pipeline until every event and every request has been committed.
    ///
    /// - Returns: the pipeline's numbers, and the seconds from the first event written to the last record committed.
    func run(
        subscribers: [ProducerRecord], events: [ProducerRecord], requests: [ProducerRecord]
    ) async throws -> (reading: PipelineMeter.Reading, seconds: Double) {
        defer { try? FileManager.default.removeItem(atPath: configuration.stateDirectory) }
        try write(subscribers, to: configuration.topics.subscriptions)
        let pipeline = NotificationPipeline(configuration: configuration, logger: logger)
        let running = Task { try await pipeline.run() }
        let partitions = Self.partitions * configuration.topics.sources.count
        try await wait("the workers to join", for: running) { pipeline.meter.reading.partitions == partitions }
        let start = ContinuousClock.now
        try write(events, to: configuration.topics.events)
        try write(requests, to: configuration.topics.requests)
        try await wait("the events to be committed", for: running) {
            pipeline.meter.reading.counts.events >= events.count + requests.count
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        pipeline.shutdown()
        try await running.value
        return (pipeline.meter.reading, seconds)
    }

    /// The records of the dispatch topic and of the dead letters, one line each.
    func outcome() throws -> [String] {
        try read(configuration.topics.dispatch, partitions: Self.partitions).map(DemoLines.push)
            + read(configuration.topics.deadLetters, partitions: 1).map(DemoLines.deadLetter)
    }

    /// Sends what is in the dispatch topic to stand-ins of the providers.
    ///
    /// - Returns: a line for each request, and then for each outcome.
    func deliver() async throws -> [String] {
        let pushes = try read(configuration.topics.dispatch, partitions: Self.partitions)
        let delivery = try DemoDelivery(configuration, pushes: pushes, logger: logger)
        for topic in delivery.topics { try cluster.createTopic(topic, partitions: Self.partitions) }
        try write(DemoDelivery.living(pushes), to: delivery.topics[0])
        let requests = try await delivery.run(pushes: pushes.count)
        return requests
            + (try read(configuration.topics.deliveries, partitions: Self.partitions).map(DemoLines.delivery))
    }

    func write(_ records: [ProducerRecord], to topic: String) throws {
        var producer = try Producer(settings: configuration.kafka)
        let target = try producer.topic(topic)
        for record in records { try producer.produce(record, to: target) }
        try producer.flush(timeout: .seconds(10))
        if let failure = producer.takeFailures().first { throw failure.error }
    }

    func read(_ topic: String, partitions: Int) throws -> [ConsumerRecord] {
        var consumer = try Consumer(assigning: configuration.kafka)
        let all = (0..<partitions).map { TopicPartition(topic: topic, partition: Int32($0)) }
        try consumer.assign(Dictionary(uniqueKeysWithValues: all.map { ($0, Offset(0)) }))
        var records: [ConsumerRecord] = []
        var ended: Set<TopicPartition> = []
        let deadline = ContinuousClock.now + .seconds(30)
        while ended.count < all.count {
            guard .now < deadline else { throw CommandFailure(.notInTime, "demo: \(topic) could not be read in 30 s") }
            let found = consumer.read(limit: 1_000, timeout: .milliseconds(100))
            records += found.records
            ended.formUnion(found.endsOfPartition.keys)
        }
        return records
    }

    func wait(
        _ what: String, for running: Task<Void, any Error>, until condition: () -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while !condition() {
            guard .now < deadline else {
                running.cancel()
                _ = try await running.value
                throw CommandFailure(.notInTime, "demo: waited for \(what) for 60 s")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
