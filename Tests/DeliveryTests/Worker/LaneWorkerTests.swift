import Foundation
import Hosting
import Notifications
import Pipeline
import Streaming
import TestSupport
import Testing

@testable import Delivery
@testable import KafkaClient

@Suite("A lane and its clients", .timeLimit(.minutes(10)))
struct LaneWorkerTests {
    private let cluster: MockCluster
    private let configuration: PipelineConfiguration
    private let log = LogEntries()
    private let host = RoleHost()
    private let folder = TemporaryFolder()

    init() throws {
        cluster = try MockCluster()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let token = "\(folder.path)/token"
        try "made-up\n".write(toFile: token, atomically: true, encoding: .utf8)
        var configuration = PipelineConfiguration(
            kafka: ["bootstrap.servers": cluster.bootstrapServers], stateDirectory: folder.path,
            rules: try ExtractionRules(), instanceID: "test")
        configuration.sessionTimeout = .seconds(6)
        configuration.delivery.retries = [.seconds(10)]
        configuration.delivery.credentials = [
            DeliveryCredential(name: "shop", source: .tokenFile(token, projectID: "shop-1"))
        ]
        self.configuration = configuration
    }

    private var logger: Logger { Logger(label: "test", sink: log) }

    private func context() throws -> DeliveryContext {
        try DeliveryContext(
            host, configuration, BroadcastFollower(configuration, logger: logger, metrics: Metrics()), start: nil,
            meter: DeliveryMeter(metrics: Metrics()))
    }

    /// A lane that reads its partitions, of which it has none.
    private func lane() throws -> LaneWorker {
        let context = try context()
        for topic in context.topics + [configuration.topics.deliveries] {
            try cluster.createTopic(topic, partitions: 1)
        }
        var lane = try LaneWorker(.fcm, context, logger: logger)
        lane.phase = .reading
        return lane
    }

    private func failure(of client: KafkaError.Client) -> KafkaError {
        KafkaError(kind: .other, recovery: .recreateClient, isFatal: true, of: client, name: "_FATAL", message: "m")
    }

    @Test("a record that asks for the broker's time and is refused tells why, and of which topic")
    func refusedQuestion() throws {
        var lane = try lane()
        try cluster.pushErrors(.addPartitionsToTransaction, ["TOPIC_AUTHORIZATION_FAILED"])
        let error = #expect(throws: KafkaError.self) { try lane.output.brokerTime() }
        #expect(error?.kind == .authorization)
        #expect(error?.topics == lane.context.topics.filter { $0.hasSuffix(".retry.10s") })
        #expect(error?.ends(.producer) == true)
        lane.close()
    }

    @Test("a lane begins by itself where nothing was dispatched when it started; otherwise a person says where")
    func begins() throws {
        var producer = try Producer(settings: ["bootstrap.servers": cluster.bootstrapServers])
        let new = try lane()
        let topic = try producer.topic(configuration.topics.dispatch)
        try producer.produce(ProducerRecord(key: nil, value: [1], partition: 0), to: topic)
        try producer.flush(timeout: .seconds(10))
        #expect(try new.toldOffsets(of: [0]).map(\.value) == [Offset(0)])
        new.close()
        let old = try LaneWorker(.fcm, try context(), logger: logger)
        let error = #expect(throws: PipelineError.self) { try old.toldOffsets(of: [0]) }
        #expect(error?.description.contains("its first start needs --from") == true)
        old.close()
    }

    @Test("a producer that has failed is replaced, and what is in flight stays, since the lane stays in its group")
    func producerFails() throws {
        var lane = try lane()
        let before = lane.consumer.handle
        try lane.recover(from: failure(of: .producer))
        #expect(lane.consumer.handle === before)
        #expect(log.messages.contains { $0.hasPrefix("recreates its producer after: m") })
        lane.close()
    }

    @Test("a consumer that has failed is replaced, and the producer is not")
    func consumerFails() throws {
        var lane = try lane()
        let before = lane.consumer.handle
        try lane.recover(from: failure(of: .member))
        #expect(lane.consumer.handle !== before)
        #expect(!log.messages.contains { $0.hasPrefix("recreates its producer") })
        lane.close()
    }

    @Test("a reader of its own that has failed costs it neither")
    func readerFails() throws {
        var lane = try lane()
        let before = lane.consumer.handle
        try lane.recover(from: failure(of: .reader))
        #expect(lane.consumer.handle === before)
        #expect(!log.messages.contains { $0.hasPrefix("recreates") })
        lane.close()
    }

    @Test("a lane that drains still replaces a producer that has failed, to commit what the providers have accepted")
    func draining() throws {
        var lane = try lane()
        host.drain()
        try lane.recover(from: failure(of: .producer))
        #expect(log.messages.contains { $0.hasPrefix("recreates its producer after: m") })
        lane.close()
    }

    @Test("a cluster that does not tell its time is believed, and what asked for it is no record that a lane sends")
    func silentCluster() throws {
        var lane = try lane()
        let time = try lane.output.brokerTime()
        #expect(time == nil)
        var reader = LaneRecordReader(lane.context, .fcm)
        var consumer = try Consumer(assigning: configuration.kafka)
        let place = TopicPartition(topic: "notifications.dispatch.retry.10s", partition: 0)
        var found = false
        try TopicReader.read(from: [place: Offset(0)], to: [place: Offset(1)], with: &consumer) { batch in
            for index in 0..<batch.count {
                if case .other = reader.read(batch[index], batch.headers, from: .tier(.orders, 0)) { found = true }
            }
        }
        // The mock cluster aborts nothing.
        #expect(found)
        lane.close()
    }

    @Test("a consumer that gets nothing for two minutes although there is something to read is replaced")
    func stuckConsumer() throws {
        var lane = try lane()
        let clean = LaneOffset(offset: 0, partitions: 1)
        lane.core.setPartitions(1)
        lane.core.assign(0, committed: [clean, clean], ends: [0, 0])
        lane.core.recalled(0)
        _ = lane.core.takeTransaction(now: .epoch)
        lane.core.committed()
        var producer = try Producer(settings: configuration.kafka)
        let topic = try producer.topic(configuration.topics.dispatch)
        try producer.produce(ProducerRecord(key: nil, value: []), to: topic)
        try producer.flush(timeout: .seconds(10))
        lane.intake.streams[0].watch = ConsumerWatch(limit: .zero)
        try lane.watchConsumer()
        #expect(throws: KafkaError.stuckConsumer) { try lane.watchConsumer() }
        lane.close()
    }
}
