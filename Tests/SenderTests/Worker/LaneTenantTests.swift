import Foundation
import Hosting
import Notifications
import Pipeline
import TestSupport
import Testing

@testable import KafkaClient
@testable import Sender
@testable import Streaming

@Suite("A lane and its clients", .timeLimit(.minutes(30)))
struct LaneTenantTests {
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
            ProviderCredential(name: "shop", source: .tokenFile(token, projectID: "shop-1"))
        ]
        self.configuration = configuration
    }

    private var logger: Logger { Logger(label: "test", sink: log) }

    private func context() throws -> SenderContext {
        try SenderContext(
            host, configuration, BroadcastFollower(configuration, logger: logger, metrics: Metrics()),
            ControlFollower(configuration, logger: logger, metrics: Metrics()), start: nil,
            meter: SenderMeter(metrics: Metrics()))
    }

    private func lane() throws -> StreamWorker<LaneTenant> {
        let context = try context()
        for topic in context.topics + [configuration.topics.deliveries] {
            try cluster.createTopic(topic, partitions: 1)
        }
        return try LaneTenant.worker(.fcm, context, logger: logger)
    }

    private func findings(of context: SenderContext, without missing: String? = nil) -> Findings {
        let topicPartitions = context.topics.filter { $0 != missing }.map { TopicPartition(topic: $0, partition: 0) }
        let offsets = Dictionary(uniqueKeysWithValues: topicPartitions.map { ($0, Offset(0)) })
        return Findings(
            partitions: topicPartitions, committed: [:], highs: offsets, starts: offsets, ends: offsets,
            partitionCounts: [context.topics[0]: 1])
    }

    @Test("a record that asks for the broker's time and is refused tells why, and of which topic")
    func refusedQuestion() throws {
        var lane = try lane()
        try cluster.pushErrors(.addPartitionsToTransaction, ["TOPIC_AUTHORIZATION_FAILED"])
        let error = #expect(throws: KafkaError.self) { _ = try lane.round() }
        #expect(error?.kind == .authorization)
        #expect(error?.topics == lane.tenant.context.retryTopics)
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
        let starts = findings(of: new.tenant.context).starts
        #expect(try new.tenant.toldOffsets(of: [0], starts).map(\.value) == [Offset(0)])
        new.close()
        let old = try LaneTenant.worker(.fcm, try context(), logger: logger)
        let error = #expect(throws: PipelineError.self) { try old.tenant.toldOffsets(of: [0], starts) }
        #expect(error?.description.contains("its first start needs --from") == true)
        old.close()
    }

    @Test("a lane whose topics were not assigned alike ends: retries have to come to whoever sends the partition")
    func unlikeTopics() throws {
        var lane = try lane()
        let retry = try #require(lane.tenant.context.retryTopics.first)
        var found = findings(of: lane.tenant.context, without: retry)
        let error = #expect(throws: PipelineError.self) { _ = try lane.tenant.locate(&found, &lane.consumer) }
        #expect(
            error?.description.contains("\(retry) and notifications.dispatch do not have the same partitions") == true)
        lane.close()
    }

    @Test("a partition that was located is recalled up to the high watermarks of its retry topics, and then opened")
    func located() throws {
        var lane = try lane()
        var found = findings(of: lane.tenant.context)
        let retry = TopicPartition(topic: try #require(lane.tenant.context.retryTopics.first), partition: 0)
        let clean = LaneOffset(offset: 0, partitions: 1)
        for topicPartition in found.partitions {
            found.committed[topicPartition] = CommittedOffset(offset: Offset(0), metadata: clean.metadata)
            found.highs[topicPartition] = Offset(4)
        }
        guard case .starts(let starts, _) = try lane.tenant.locate(&found, &lane.consumer) else {
            Issue.record("it waits")
            return
        }
        #expect(starts.filter { !$0.value.restores.isEmpty }.mapValues(\.restores) == [retry: 0..<4])
        lane.tenant.restored()
        let before = lane.tenant.hasLetGo
        // Nothing was sent.
        _ = lane.tenant.letGo(isLast: true)
        let after = lane.tenant.hasLetGo
        #expect(!before && after)
        lane.close()
    }

    @Test("a cluster that does not tell its time is believed, and what asked for it is no record that a lane sends")
    func silentCluster() throws {
        let lane = try lane()
        let (record, output) = lane.tenant.clockRecord()
        let time = try lane.transaction.brokerTime(by: record, in: output)
        #expect(time == nil)
        var reader = LaneRecordReader(lane.tenant.context, .fcm)
        var consumer = try Consumer(assigning: configuration.kafka)
        let partition = TopicPartition(topic: "notifications.dispatch.retry.10s", partition: 0)
        var found = false
        try TopicReader.read(from: [partition: Offset(0)], to: [partition: Offset(1)], with: &consumer) { batch in
            for index in 0..<batch.count {
                if case .other = reader.read(batch[index], batch.headers, from: .tier(.orders, 0)) { found = true }
            }
        }
        // The mock cluster aborts nothing.
        #expect(found)
        lane.close()
    }

    @Test("a process that was frozen within a round sends nothing before it has committed")
    func frozenWithinRound() throws {
        var lane = try lane()
        let time = WallTime(milliseconds: 1_900_000_000_000)
        lane.tenant.hear(time, isClockRight: false)
        lane.tenant.tick(TransactionTime(clock: time + 1_000, began: .now))
        let before = lane.tenant.core.mustCommit
        lane.tenant.tick(TransactionTime(clock: time + 60_000, began: .now))
        let after = lane.tenant.core.mustCommit
        #expect(!before && after)
        lane.close()
    }
}
