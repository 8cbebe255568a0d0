import KafkaClient
import Streaming
import Synchronization

/// What the workers of a process share. Any thread.
final class WorkerContext: RoleContext {
    let host: RoleHost
    let configuration: PipelineConfiguration
    /// What is read, in the order of the consumers' data queues.
    let sources: [SourceKind]
    let audienceRule: any AudienceRule
    let clients: any Clients
    let gate: TableGate
    let deadLetters: DeadLetterLog
    let meter: PipelineMeter
    /// The cluster's id, once it has answered; nil where the broker does not report it.
    private let clusterID = Mutex<String?>(nil)
    let board: ReadinessBoard
    let holds = PartitionHolds()

    init(
        host: RoleHost = RoleHost(), configuration: PipelineConfiguration, audienceRule: any AudienceRule,
        clients: any Clients = KafkaClients(), meter: PipelineMeter
    ) {
        self.host = host
        self.configuration = configuration
        self.sources = configuration.topics.sources
        self.audienceRule = audienceRule
        self.clients = clients
        self.meter = meter
        self.deadLetters = DeadLetterLog(host.patience, topic: configuration.topics.deadLetters)
        self.gate = TableGate(freshFor: configuration.subscriptionsMaxLag, now: host.time.now())
        self.board = ReadinessBoard(workers: configuration.workers)
    }

    var cluster: String? {
        get { clusterID.withLock { $0 } }
        set { clusterID.withLock { $0 = newValue } }
    }

    /// What all journal entries of the process have in common.
    var journalOrigin: JournalEntry {
        JournalEntry(
            group: configuration.groupID, cluster: cluster, dispatch: configuration.topics.dispatch,
            rules: configuration.rulesHash)
    }

    var readiness: Readiness {
        let isBehind = gate.isLagging(now: now) || gate.isAwaited
        return board.readiness(
            host, tableBehind: isBehind ? .tableBehind(records: meter.reading.tableLag) : nil, holds: holds.reasons)
    }
}
