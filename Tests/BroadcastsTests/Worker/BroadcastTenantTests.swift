import Hosting
import StateStore
import TestSupport
import Testing

@testable import Broadcasts
@testable import KafkaClient
@testable import Pipeline
@testable import Streaming

@Suite("What a worker of broadcasts decides", .timeLimit(.minutes(30)))
struct BroadcastTenantTests {
    private let cluster: MockCluster
    private let configuration: PipelineConfiguration
    private let metrics = Metrics()
    private let log = LogEntries()

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

    private func worker(partitions: Int32 = 1) throws -> StreamWorker<BroadcastTenant> {
        let topics = configuration.topics
        for topic in [topics.broadcastDispatch, topics.broadcastJournal, topics.deadLetters, topics.subscriptions] {
            try cluster.createTopic(topic, partitions: 1)
        }
        let context = BroadcastContext(
            RoleHost(), configuration, includesValid: false,
            log: .init(cluster: nil, partitions: partitions, largestTableAge: 3_600_000, compactionLag: 3_600_000),
            follower: BroadcastFollower(configuration, logger: logger, metrics: metrics), ends: SubscriptionEnds(),
            meter: BroadcastMeter(metrics: metrics))
        let slot = Slot(instance: configuration.instanceID, number: 0)
        return try StreamWorker(
            BroadcastTenant.contract(of: slot, context), context.host, metrics, logger: logger
        ) { BroadcastTenant(slot, context, $0, logger: logger) }
    }

    @Test("more partitions of the subscriptions than at the start end the role: devices would get broadcasts again")
    func morePartitions() throws {
        var worker = try worker()
        var found = Findings(
            partitions: [], committed: [:], starts: [:], ends: [:],
            partitionCounts: [configuration.topics.subscriptions: 2])
        #expect {
            _ = try worker.tenant.locate(&found, &worker.consumer)
        } throws: { error in
            guard case .decisionNeeded(let text) = error as? PipelineError else { return false }
            return text.hasPrefix("notifications.subscriptions had 1 partitions and has 2: keys have moved")
        }
        worker.close()
    }

    @Test("a table that is given up while it is brought up to its offset is stored as far as it was read")
    func interruptedRestore() throws {
        var worker = try worker()
        let (context, topicPartition) = (worker.tenant.context, worker.tenant.topicPartition(0))
        let now = context.clock.now()
        let offset = BroadcastOffset(offset: 10, partitions: 1, time: now, broadcast: 0)
        var found = Findings(
            partitions: [topicPartition],
            committed: [topicPartition: CommittedOffset(offset: Offset(10), metadata: offset.metadata)],
            starts: [topicPartition: Offset(0)], ends: [topicPartition: Offset(10)],
            partitionCounts: [topicPartition.topic: 1])
        _ = try worker.tenant.locate(&found, &worker.consumer)
        let device = TestDevice(1)
        var batch = RecordBatch()
        batch.append(
            copying: ProducerRecord(
                key: device.key(in: "channel/a"), value: device.value(in: "channel/a", seen: now), timestamp: now),
            at: 3, of: topicPartition)
        try worker.tenant.restore(batch)
        worker.tenant.release(.toOthers)

        let log = ChannelTable.Log(
            origin: .init(topic: topicPartition.topic, partition: 0, cluster: nil), start: 0, committed: 10,
            largestAge: 3_600_000, now: now)
        let table = try ChannelTable.open(context.folder(of: 0), log).table
        #expect(table.stored == 4)
        try table.close()
        worker.close()
    }

    @Test("where the store of one table fails, another's table is not taken to have what was not kept")
    func failingNeighbour() throws {
        var worker = try worker(partitions: 2)
        let now = worker.tenant.context.clock.now()
        let devices = try (0..<2).map { partition in
            let all = (0..<100).map(TestDevice.init)
            return try #require(all.first { Murmur2.partition(of: $0.key(in: "channel/a"), count: 2) == partition })
        }
        // Tables are looked at in any order: one of the two fails before the other.
        for (failing, other) in [(0, 1), (1, 0)] {
            let failed = try ChannelTableTrial(
                store: {
                    let store = FailingStore()
                    store.fails = true
                    return store
                }())
            for number in 0..<ChannelTable.mostPending { try failed.subscribe(TestDevice(1_000 + number), at: 1) }
            let whole = try ChannelTableTrial()
            for (number, table) in [(failing, failed.table), (other, whole.table)] {
                worker.tenant.core.partitions[Int32(number)] = BroadcastPartition(
                    Int32(number),
                    committed: BroadcastOffset(offset: 10, partitions: 2, time: now, broadcast: 0), table: table)
            }
            var batch = RecordBatch()
            for number in [failing, other] {
                let device = devices[number]
                batch.append(
                    copying: ProducerRecord(
                        key: device.key(in: "channel/a"), value: device.value(in: "channel/a", seen: now),
                        timestamp: now),
                    at: 5, of: worker.tenant.topicPartition(Int32(number)))
            }
            #expect(throws: StoreError.self) { try worker.tenant.restore(batch) }
            let folded = worker.tenant.core.partitions[Int32(other)]?.folded
            #expect(folded == (whole.table.isPending ? 6 : nil))
            worker.tenant.core.partitions.removeAll()
        }
        worker.close()
    }

    @Test("a dead letter that is refused is cut, and one that is refused again ends the role, until one was committed")
    func refusals() throws {
        var worker = try worker()
        let refused = KafkaError(kind: .messageTooLarge, recovery: .abortTransaction, name: "", message: "m")
        for _ in 0..<2 {
            try worker.tenant.refused(.init(tag: nil, error: refused))
            #expect(throws: PipelineError.self) { try worker.tenant.refused(.init(tag: nil, error: refused)) }
            worker.tenant.committed()
        }
        worker.close()
    }

    @Test("a drain takes shutdown.timeout at most")
    func drain() {
        let service = BroadcastService(configuration: configuration)
        #expect(service.terms.drainTimeout == configuration.shutdownTimeout)
    }
}
