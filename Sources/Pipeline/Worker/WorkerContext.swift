import KafkaClient
import Synchronization

/// What the workers of a process share. Any thread.
final class WorkerContext: Sendable {
    let configuration: PipelineConfiguration
    /// What is read, in the order of the consumers' data queues.
    let sources: [SourceKind]
    let audienceRule: any AudienceRule
    let gate: TableGate
    let patience = Patience()
    let deadLetters: DeadLetterLog
    let clock = PipelineClock()
    private let permissions: Permissions
    let meter: PipelineMeter
    /// The cluster's id, once it has answered; nil where the broker does not report it.
    private let clusterID = Mutex<String?>(nil)
    let watch: WorkerWatch
    let board: ReadinessBoard
    let holds = PartitionHolds()
    /// Finish the open transaction, commit and end.
    let isDraining = Atomic<Bool>(false)
    /// End at once: open transactions are left to time out.
    let isStopping = Atomic<Bool>(false)
    #if DEBUG
        let faults: FaultPlan?
    #endif

    init(
        configuration: PipelineConfiguration, audienceRule: any AudienceRule, meter: PipelineMeter
    ) throws(PipelineError) {
        #if DEBUG
            faults = try FaultPlan.ofEnvironment()
        #endif
        self.configuration = configuration
        self.sources = configuration.topics.sources
        self.audienceRule = audienceRule
        self.meter = meter
        self.deadLetters = DeadLetterLog(patience, topic: configuration.topics.deadLetters)
        self.gate = TableGate(freshFor: configuration.subscriptionsMaxLag)
        self.permissions = Permissions(configuration)
        self.watch = WorkerWatch(workers: configuration.workers)
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

    var mustEnd: Bool { isDraining.load(ordering: .acquiring) || isStopping.load(ordering: .acquiring) }

    var mustStop: Bool { isStopping.load(ordering: .acquiring) }

    var readiness: Readiness {
        let isBehind = gate.isLagging() || gate.isAwaited
        return board.readiness(
            isDraining: mustEnd, tableBehind: isBehind ? .tableBehind(records: meter.reading.tableLag) : nil,
            holds: holds.reasons)
    }

    /// Takes an error of the environment, and returns what to log of it now, if anything; see ``Patience/consider(_:now:)``.
    func consider(_ error: KafkaError) throws(PipelineError) -> String? {
        let error = permissions.explained(error)
        return try patience.consider(error) ? error.description : nil
    }

    /// See ``Patience/untilItWorks(_:mustEnd:explained:tell:_:)``.
    func untilItWorks<Value: ~Copyable>(
        _ logger: Logger, _ body: () throws(KafkaError) -> Value
    ) throws -> Value {
        try patience.untilItWorks(
            logger, mustEnd: { mustEnd }, explained: permissions.explained,
            tell: { board.waitUnanswered($0.map { "\($0)" }) }, body)
    }
}

/// The name of one worker in the group: `<instance.id>-<n>`.
struct Slot: Hashable, Sendable, CustomStringConvertible {
    var instance: String
    var number: Int

    var description: String { "\(instance)-\(number)" }

    func transactionalID(group: String) -> String { "\(group).\(self)" }
    func groupInstanceID(group: String) -> String { "\(group).\(self)" }
}
