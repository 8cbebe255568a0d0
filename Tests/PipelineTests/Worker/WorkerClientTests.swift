import Foundation
import Telemetry
import TestSupport
import Testing

@testable import Hosting
@testable import KafkaClient
@testable import Notifications
@testable import Pipeline
@testable import Streaming

@Suite("The clients of a worker", .timeLimit(.minutes(30)))
struct WorkerClientTests {
    private static let broker = ProcessInfo.processInfo.environment["KAFKA_BOOTSTRAP_SERVERS"] ?? ""

    @Test(
        "a consumer that is replaced has left its group by then and is freed, although a batch held its records",
        .enabled(if: !broker.isEmpty, "needs a broker: set KAFKA_BOOTSTRAP_SERVERS"))
    func replacedConsumerLeaves() throws {
        let folder = TemporaryFolder()
        let settings = ["bootstrap.servers": Self.broker]
        let configuration = try makeConfiguration(settings, folder)
        let admin = try Admin(settings: settings)
        let context = WorkerContext(
            configuration: configuration, audienceRule: OrderAudiences(), meter: PipelineMeter(metrics: Metrics()))
        context.gate.passAll()
        let clients = NotedClients()
        var worker = try StreamWorker.reading(context, clients)
        try worker.run()
        // Its record comes once more, and is held.
        let events = TopicPartition(topic: configuration.topics.events, partition: 0)
        try worker.consumer.seek(to: [events: Offset(0)], timeout: .seconds(10))
        let deadline = ContinuousClock.now + .seconds(30)
        while worker.inputs[0].batch.isEmpty, .now < deadline { try worker.fill(0, timeout: .milliseconds(100)) }
        let before = try admin.describe(group: configuration.groupID).members
        try #require(before.count == 1)
        try #require(clients.latest != nil)
        weak let client = clients.latest

        context.host.isDraining.store(false, ordering: .sequentiallyConsistent)
        try worker.recoverFully(from: KafkaError.stuckConsumer)
        let after = try admin.describe(group: configuration.groupID).members
        #expect(!after.contains { $0.memberID == before[0].memberID })
        #expect(client == nil)
        worker.close()
    }

    private func makeConfiguration(_ settings: Settings, _ folder: TemporaryFolder) throws -> PipelineConfiguration {
        let name = "test-replaced-\(UUID().uuidString.prefix(8).lowercased())"
        var configuration = PipelineConfiguration(
            kafka: settings, stateDirectory: folder.path, rules: try ExtractionRules(), instanceID: "test", workers: 1)
        configuration.groupID = name
        configuration.staticMembership = false
        configuration.from = .earliest
        // Longer than the test: whoever does not leave is still there.
        configuration.sessionTimeout = .seconds(45)
        configuration.topics.events = "\(name).events"
        configuration.topics.dispatch = "\(name).dispatch"
        configuration.topics.deadLetters = "\(name).dead-letters"
        configuration.topics.journal = "\(name).journal"
        let topics = configuration.topics
        let names = [topics.events, topics.dispatch, topics.deadLetters, topics.journal]
        let outcome = try Admin(settings: settings).createTopics(
            names.map { NewTopic(name: $0, partitions: 1, replicationFactor: 1) })
        for case let error? in outcome.values { throw error }
        // The brokers learn of them a little later than the controller. Each question waits for its answer.
        let reader = try Consumer(assigning: settings)
        let deadline = ContinuousClock.now + .seconds(30)
        for name in names {
            while (try? reader.partitionCount(of: name, timeout: .seconds(5))) == nil, .now < deadline {}
        }
        var producer = try Producer(settings: settings)
        let events = try producer.topic(topics.events)
        try producer.produce(ProducerRecord(key: nil, value: Array(OrderEvent.created.utf8)), to: events)
        try producer.flush(timeout: .seconds(10))
        return configuration
    }

    @Test("a worker that reads is not ready while its producer is replaced, and is again as soon as it has a new one")
    func readyWithNewProducer() throws {
        let cluster = try MockCluster()
        let folder = TemporaryFolder()
        let configuration = try PipelineConfiguration.onMock(cluster, folder)
        let context = WorkerContext(
            configuration: configuration, audienceRule: OrderAudiences(), meter: PipelineMeter(metrics: Metrics()))
        var worker = try StreamWorker.reading(context)
        let topicPartition = TopicPartition(topic: configuration.topics.events, partition: 0)
        worker.assignment.assigned([topicPartition], now: .now)
        try worker.assignment.located()
        try worker.assignment.started()
        worker.partitions = [topicPartition]
        context.board.started()
        worker.tenant.report(.locating, lag: nil)
        #expect(context.board.readiness(context.host, tableBehind: nil).reasons == [.noPosition(workers: [0])])
        try worker.replaceProducer(after: KafkaError.anotherReason)
        #expect(context.board.readiness(context.host, tableBehind: nil).reasons == [])
        worker.close()
    }

    // MARK: Fencings

    @Test("a loss of the partitions that nobody has heard of yet explains a fencing: the consumer is replaced")
    func pendingLossExplainsFencing() throws {
        // The second answer comes although the loss, which the first one causes, is still in the queue.
        try withFencedMember(heartbeats: ["UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID"]) { worker in
            do {
                try worker.replaceProducer(after: .fencedProducer)
            } catch {
                try worker.recoverFully(from: error)
            }
            let fatal = worker.consumer.fatalError
            #expect(fatal == nil)
        }
    }

    @Test("a loss of the partitions that a fencing itself causes does not explain it: the slot is taken")
    func fencingBeforeLoss() throws {
        try withFencedMember(heartbeats: ["FENCED_INSTANCE_ID"]) { worker in
            var thrown: PipelineError?
            do {
                try worker.replaceProducer(after: .fencedProducer)
            } catch let error as PipelineError {
                thrown = error
            }
            #expect(thrown?.isInstanceInUse == true)
        }
    }

    /// Calls `body` with a worker that was a static member of its group on a mock cluster, until these answers to its
    /// heartbeats fenced it. Its control queue gets nothing but what the group says, and errors.
    private func withFencedMember(
        heartbeats answers: [String], _ body: (inout StreamWorker<PipelineTenant>) throws -> Void
    ) throws {
        let cluster = try MockCluster()
        let folder = TemporaryFolder()
        var configuration = try PipelineConfiguration.onMock(cluster, folder)
        configuration.kafka["statistics.interval.ms"] = "0"
        configuration.kafka["heartbeat.interval.ms"] = "100"
        let context = WorkerContext(
            configuration: configuration, audienceRule: OrderAudiences(), meter: PipelineMeter(metrics: Metrics()))
        var worker = try StreamWorker.reading(context)
        try worker.serve { $0.assignment.search != nil }
        try cluster.pushErrors(.heartbeat, answers)
        try worker.waitForFencing()
        try body(&worker)
        worker.close()
    }
}

/// librdkafka's, of which it knows the latest consumer's.
private final class NotedClients: Clients, @unchecked Sendable {
    private let kafka = KafkaClients()
    weak var latest: ClientHandle?

    func member(
        _ contract: Contract, _ sink: @escaping ClientLog.Sink
    ) throws(KafkaError) -> any MemberClient & ~Copyable {
        var consumer = try Consumer(
            settings: contract.memberSettings, group: contract.group, queuesOf: contract.inputs, logger: sink)
        try consumer.subscribe(to: contract.inputs)
        latest = consumer.handle
        return consumer
    }

    func producer(
        _ contract: Contract, _ sink: @escaping ClientLog.Sink
    ) throws(KafkaError) -> any TransactionalProducer & ~Copyable { try kafka.producer(contract, sink) }

    func reader(
        _ settings: Settings, passes: [TopicPartition: [ClosedRange<Int64>]],
        onPassing: @escaping @Sendable (RecordPosition?) -> Void, _ sink: @escaping ClientLog.Sink
    ) throws(KafkaError) -> any ReadingClient & ~Copyable {
        try kafka.reader(settings, passes: passes, onPassing: onPassing, sink)
    }

    func read(
        from starts: [TopicPartition: Offset], to ends: [TopicPartition: Offset], _ settings: Settings,
        _ sink: @escaping ClientLog.Sink, take: (borrowing RecordBatch) throws -> Void
    ) throws { try kafka.read(from: starts, to: ends, settings, sink, take: take) }

    func endOffsets(
        _ partitions: [TopicPartition], _ settings: Settings, _ sink: @escaping ClientLog.Sink
    ) throws(KafkaError) -> [TopicPartition: Offset] { try kafka.endOffsets(partitions, settings, sink) }

    func reader(
        _ settings: Settings, _ signal: QueueSignal, _ sink: @escaping ClientLog.Sink
    ) throws(KafkaError) -> any PartitionClient & ~Copyable { try kafka.reader(settings, signal, sink) }
}

extension StreamWorker<PipelineTenant> {
    /// Its first record ends it.
    static func reading(
        _ context: WorkerContext, _ clients: any Clients = KafkaClients()
    ) throws -> StreamWorker<PipelineTenant> {
        let slot = Slot(instance: context.configuration.instanceID, number: 0)
        var contract = PipelineTenant.contract(of: slot, context)
        contract.clients = clients
        return try StreamWorker(contract, context.host, context.meter.metrics, logger: .silent) {
            try PipelineTenant(slot, context, $0, recipients: .resolver(DrainingResolver(context)), logger: .silent)
        }
    }

    /// Joins the group and finds the positions, until the condition holds.
    fileprivate mutating func serve(until condition: (borrowing Self) -> Bool) throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while !condition(self), .now < deadline {
            try serveGroup(timeout: .milliseconds(50))
            // It may hold before the positions are looked for.
            if !condition(self), let search = assignment.search { try locate(search) }
        }
        let holds = condition(self)
        try #require(holds)
    }

    /// Waits for the fatal error of the consumer; what the group says stays in its queue.
    fileprivate mutating func waitForFencing() throws {
        let deadline = ContinuousClock.now + .seconds(30)
        var batch = RecordBatch()
        while consumer.fatalError == nil, .now < deadline {
            consumer.fill(&batch, from: 0, limit: 1, maxBytes: .max, timeout: .milliseconds(10))
        }
        let kind = consumer.fatalError?.kind
        try #require(kind == .fencedInstanceID)
    }
}

extension PipelineError {
    fileprivate var isInstanceInUse: Bool {
        if case .instanceInUse = self { true } else { false }
    }
}

/// Nobody has subscribed, and the first event is the last one that is processed.
private final class DrainingResolver: TokenResolver {
    private let context: WorkerContext

    init(_ context: WorkerContext) { self.context = context }

    func resolve(_ audiences: borrowing AudienceList, into devices: inout DeviceList) throws {
        context.host.drain()
    }
}

extension KafkaError {
    /// Has nothing to do with a record.
    fileprivate static var anotherReason: KafkaError {
        KafkaError(kind: .state, recovery: .abortTransaction, name: "", message: "an abort that a test asked for")
    }

    /// The producer's, which does not say by whom.
    fileprivate static var fencedProducer: KafkaError {
        KafkaError(kind: .fenced, recovery: .recreateClient, isFatal: true, name: "_FENCED", message: "by a test")
    }
}
