import Hosting
import StateStore
import TestSupport
import Testing

@testable import KafkaClient
@testable import Pipeline
@testable import Registrar
@testable import Streaming

@Suite("Where a registrar begins", .timeLimit(.minutes(30)))
struct RegistrarTenantTests {
    private let cluster: MockCluster
    private let configuration: PipelineConfiguration
    private let metrics = Metrics()
    private let log = LogEntries()
    private let commands = TopicPartition(topic: "notifications.commands", partition: 0)

    init() throws {
        cluster = try MockCluster()
        var configuration = PipelineConfiguration(
            kafka: ["bootstrap.servers": cluster.bootstrapServers], stateDirectory: TemporaryFolder().path,
            rules: try ExtractionRules(), instanceID: "test", workers: 1)
        configuration.topics.commands = commands.topic
        configuration.sessionTimeout = .seconds(6)
        self.configuration = configuration
    }

    private func worker() throws -> StreamWorker<RegistrarTenant> {
        let topics = configuration.topics
        for topic in topics.foldedByRegistrar + [topics.commands, topics.verdicts] {
            try cluster.createTopic(topic, partitions: 1)
        }
        let context = RegistrarContext(
            RoleHost(), configuration, log: FoldedLog(cluster: nil, largestTableAge: 3_600_000),
            meter: RegistrarMeter(metrics: metrics))
        let slot = Slot(instance: configuration.instanceID, number: 0, onlyWorker: "registrar")
        let logger = Logger(label: "test", sink: log)
        return try StreamWorker(
            RegistrarTenant.contract(of: slot, context), context.host, metrics, logger: logger
        ) { RegistrarTenant(context, $0, logger: logger) }
    }

    /// - Parameter committed: nil: the group has no offset.
    private func located(
        _ worker: inout StreamWorker<RegistrarTenant>, committed: Int64?, start: Int64 = 0, end: Int64
    ) throws -> [TopicPartition: Start] {
        var found = Findings(
            partitions: [commands],
            committed: committed.map { [commands: CommittedOffset(offset: Offset($0))] } ?? [:],
            starts: [commands: Offset(start)], ends: [commands: Offset(end)], partitionCounts: [commands.topic: 1])
        switch try worker.tenant.locate(&found, &worker.consumer) {
        case .later: return [:]
        case .starts(let starts, _): return starts
        }
    }

    @Test("commands in several partitions have no order, and end the role")
    func several() throws {
        var worker = try worker()
        let both = [commands, TopicPartition(topic: commands.topic, partition: 1)]
        var found = Findings(
            partitions: both, committed: [:], starts: [:], ends: [:], partitionCounts: [commands.topic: 2])
        #expect {
            _ = try worker.tenant.locate(&found, &worker.consumer)
        } throws: { error in
            "\(error)".contains("notifications.commands has 2 partitions and must have one")
        }
        worker.close()
    }

    @Test("it begins at the group's offset, or at the first command that there is")
    func begins() throws {
        var worker = try worker()
        #expect(try located(&worker, committed: 7, end: 9)[commands]?.offset == Offset(7))
        worker.tenant.release(.toItself)
        #expect(try located(&worker, committed: nil, start: 3, end: 9)[commands]?.offset == Offset(3))
        worker.tenant.release(.toItself)
        #expect(try located(&worker, committed: 7, start: 8, end: 9)[commands]?.offset == Offset(8))
        #expect(log.messages.contains("commands were deleted before they were decided"))
        worker.close()
    }

    @Test("a log of commands that ends before the group's offset was created again: a person decides")
    func createdAgain() throws {
        var worker = try worker()
        #expect {
            _ = try located(&worker, committed: 7, end: 6)
        } throws: { error in
            "\(error)".contains("notifications.commands ends at offset 6, and the group carillon-registrar is at 7")
        }
        worker.close()
    }

    @Test("a damaged table is wiped before it is opened again, one that cannot be written is not")
    func damaged() throws {
        var worker = try worker()
        _ = try located(&worker, committed: 7, end: 9)
        for (kind, isWiped) in [(StoreError.Kind.damaged, true), (.diskFull, false)] {
            #expect(try worker.tenant.consider(StoreError(kind, "m")))
            #expect(worker.tenant.context.mustWipe.exchange(false, ordering: .relaxed) == isWiped)
        }
        worker.close()
    }
}
