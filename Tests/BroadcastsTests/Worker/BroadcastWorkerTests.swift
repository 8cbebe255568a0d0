import Hosting
import Streaming
import TestSupport
import Testing

@testable import Broadcasts
@testable import KafkaClient
@testable import Pipeline

@Suite("A worker of broadcasts and its clients", .timeLimit(.minutes(10)))
struct BroadcastWorkerTests {
    private let cluster: MockCluster
    private let configuration: PipelineConfiguration
    private let log = LogEntries()
    private let host = RoleHost()

    init() throws {
        cluster = try MockCluster()
        var configuration = PipelineConfiguration(
            kafka: ["bootstrap.servers": cluster.bootstrapServers], stateDirectory: TemporaryFolder().path,
            rules: try ExtractionRules(), instanceID: "test", workers: 1)
        configuration.topics.broadcasts = "notifications.broadcasts"
        configuration.sessionTimeout = .seconds(6)
        self.configuration = configuration
    }

    private var logger: Logger { Logger(label: "test", sink: log) }

    /// A worker that reads its partitions, of which it has none.
    private func worker() throws -> BroadcastWorker {
        let topics = configuration.topics
        for topic in [topics.broadcastDispatch, topics.broadcastJournal, topics.deadLetters, topics.subscriptions] {
            try cluster.createTopic(topic, partitions: 1)
        }
        let context = BroadcastContext(
            host, configuration, includesValid: false,
            log: .init(cluster: nil, partitions: 1, largestTableAge: 1, compactionLag: 1),
            follower: BroadcastFollower(configuration, logger: logger, metrics: Metrics()), ends: SubscriptionEnds(),
            meter: BroadcastMeter(metrics: Metrics()))
        var worker = try BroadcastWorker(0, context, logger: logger)
        worker.phase = .reading
        return worker
    }

    private func failure(of client: KafkaError.Client) -> KafkaError {
        KafkaError(kind: .other, recovery: .recreateClient, isFatal: true, of: client, name: "_FATAL", message: "m")
    }

    @Test("a producer that has failed is replaced, and the worker stays a member of its group")
    func producerFails() throws {
        var worker = try worker()
        let before = worker.consumer.handle
        try worker.recover(from: failure(of: .producer))
        #expect(worker.consumer.handle === before)
        #expect(log.messages.contains { $0.hasPrefix("recreates its producer after: m") })
        worker.close()
    }

    @Test("a consumer that has failed is replaced, and the producer is not")
    func consumerFails() throws {
        var worker = try worker()
        let before = worker.consumer.handle
        try worker.recover(from: .stuckConsumer)
        #expect(worker.consumer.handle !== before)
        #expect(!log.messages.contains { $0.hasPrefix("recreates its producer") })
        worker.close()
    }

    @Test("a reader of its own that has failed costs it neither")
    func readerFails() throws {
        var worker = try worker()
        let before = worker.consumer.handle
        try worker.recover(from: failure(of: .reader))
        #expect(worker.consumer.handle === before)
        #expect(!log.messages.contains { $0.hasPrefix("recreates") })
        worker.close()
    }

    @Test("a consumer that gets nothing for two minutes although there is something to read is replaced")
    func stuckConsumer() throws {
        var worker = try worker()
        let table = try ChannelTableTrial().table
        worker.core.assign(
            0, committed: BroadcastOffset(offset: 0, partitions: 1, time: .epoch, broadcast: 0), table: table)
        var producer = try Producer(settings: configuration.kafka)
        let topic = try producer.topic(configuration.topics.subscriptions)
        try producer.produce(ProducerRecord(key: nil, value: []), to: topic)
        try producer.flush(timeout: .seconds(10))
        worker.watch = ConsumerWatch(limit: .zero)
        try worker.watchConsumer()
        #expect(throws: KafkaError.stuckConsumer) { try worker.watchConsumer() }
        worker.close()
    }

    @Test("a drain takes shutdown.timeout at most")
    func drain() {
        let service = BroadcastService(configuration: configuration)
        #expect(service.terms.drainTimeout == configuration.shutdownTimeout)
    }
}
