import KafkaClient
import NotificationPayload

/// All settings of a pipeline, as one value (docs/code.md §3 "Configuration").
///
/// A program that embeds the pipeline fills it in by hand; the command line makes it from files, environment and flags
/// with ``ConfigurationLoader``. In both cases ``limitProblems()`` says whether its limits fit together.
public struct PipelineConfiguration: Sendable {
    /// librdkafka's own settings, by their own names, without those that the pipeline decides itself.
    public var kafka: Settings
    /// The consumer group. Transactional ids and member ids are made from it and the slot (docs/code.md §6 "Slots").
    public var groupID = "carillon"
    /// The name of this process within its group; two live processes never share one.
    public var instanceID: String
    /// Threads, each with its own consumer and producer.
    public var workers: Int
    /// A worker that comes back within the session timeout takes its partitions over without a rebalance.
    public var staticMembership = true
    /// Where a partition without a committed offset starts; nil stops the worker there.
    public var from: StartPosition?
    public var topics = Topics()
    /// The folder of the subscriptions table and of the instance's lock. It holds tokens, and is always safe to delete.
    public var stateDirectory: String
    public var rules: ExtractionRules
    /// How the state of orders is kept, and which timers follow from it.
    public var orders = OrderRules()
    public var requests = RequestRules()
    /// Where a partition of requests without a committed offset begins: so long ago, unless ``from`` is set.
    public var requestsFrom: Duration = .seconds(3_600)
    public var rendering = RenderSettings()
    /// What `carillon explain` shows as the URL of a push; nothing that is sent depends on it (docs/rules.md §5.5).
    public var deepLinks = DeepLinks()
    public var broadcasts = BroadcastLimits()
    /// How `carillon deliver` sends; the pipeline itself does not use it.
    public var delivery = SenderConfiguration()
    /// How backends ask over HTTP; only the role `api` uses it.
    public var api = APIConfiguration()
    /// A device that was last seen longer ago gets nothing (docs/rules.md §1.7).
    public var subscriptionsMaxAge: Duration = .days(270)
    /// Fan-out pauses when the table has been behind its topic for this long (docs/code.md §6).
    public var subscriptionsMaxLag: Duration = .seconds(30)
    /// An event with more devices becomes a dead letter, `too_many_devices`. An event is never split, so the default is
    /// what any broker takes within ``transactionTimeout``: ``mostDevicesPerEvent``, at most 200,000.
    public var maxDevicesPerEvent: Int {
        get { chosenMaxDevices ?? min(200_000, mostDevicesPerEvent) }
        set { chosenMaxDevices = newValue }
    }
    /// What was set; nil: the default.
    package private(set) var chosenMaxDevices: Int?
    /// An event whose pushes have more bytes becomes a dead letter, `too_many_bytes` (ADR 48). The default is 50 MB for
    /// each second of ``transactionTimeout``, at most 1 GB.
    public var maxBytesPerEvent: Int {
        get { chosenMaxBytes ?? min(1_000_000_000, Int(clamping: transactionTimeout.wholeMilliseconds) * 50_000) }
        set { chosenMaxBytes = newValue }
    }
    private var chosenMaxBytes: Int?
    /// A transaction is committed when it is this old.
    public var commitInterval: Duration = .milliseconds(50)
    /// Replaces ``commitInterval`` while more records wait than the transaction has taken.
    public var commitIntervalBehind: Duration = .milliseconds(500)
    /// A transaction with this many events is committed at once.
    public var commitMaxEvents = 20_000
    /// A transaction with this many dispatch records is committed at once.
    public var commitMaxRecords = 50_000
    /// The broker aborts a transaction that is older.
    public var transactionTimeout: Duration = .seconds(20)
    /// The broker takes a silent worker's partitions away after this.
    public var sessionTimeout: Duration = .seconds(10)
    /// How long a stopping pipeline drains and commits.
    public var shutdownTimeout: Duration = .seconds(10)
    /// Where `carillon run` serves metrics and health; nil: nowhere. The library itself serves nothing.
    public var http: ListenAddress?
    public var logLevel: Logger.Level = .info
    /// nil: text on a terminal, JSON lines elsewhere.
    public var logFormat: LogFormat?

    /// The defaults of every setting.
    /// - Parameters:
    ///   - kafka: at least `bootstrap.servers`.
    ///   - stateDirectory: a folder of this instance alone; it is made when it is missing.
    public init(
        kafka: Settings,
        stateDirectory: String,
        rules: ExtractionRules,
        instanceID: String = PipelineConfiguration.defaultInstanceID,
        workers: Int = PipelineConfiguration.defaultWorkers
    ) {
        self.kafka = kafka
        self.stateDirectory = stateDirectory
        self.rules = rules
        self.instanceID = instanceID
        self.workers = workers
    }
}

extension PipelineConfiguration {
    /// The names of the topics (docs/code.md §4).
    public struct Topics: Sendable, Equatable {
        public var events = "orders.events"
        /// Requests for notifications; empty: none are read.
        public var requests = ""
        /// Messages to every device in a channel; empty: there are none. The pipeline itself does not read it.
        public var broadcasts = ""
        /// What is cancelled and paused; empty: nothing can be. Who delivers follows it.
        public var control = ""
        /// What is to be changed of devices and people; empty: there is no registrar. Only the registrar reads it.
        public var commands = ""
        /// What the registrar writes: the state of each device and person, who was erased, and what became of each command.
        public var devices = "notifications.devices"
        public var people = "notifications.people"
        public var erasures = "notifications.erasures"
        public var verdicts = "notifications.verdicts"
        public var subscriptions = "notifications.subscriptions"
        public var dispatch = "notifications.dispatch"
        public var deadLetters = "notifications.dead-letters"
        public var journal = "notifications.journal"
        /// What became of each push; only `carillon deliver` writes it.
        public var deliveries = "notifications.deliveries"
        /// What phones say of pushes; empty: they are not asked. Only `carillon api` writes it.
        public var receipts = ""

        public init() {}

        /// What is written for broadcasts: a topic of its own, so that a million pushes never stand before an order's.
        package var broadcastDispatch: String { "\(dispatch).broadcasts" }
        /// The topics that `carillon deliver` sends from.
        package var dispatchTopics: [String] { broadcasts.isEmpty ? [dispatch] : [dispatch, broadcastDispatch] }
        /// One record for each transaction of those that send broadcasts.
        package var broadcastJournal: String { "\(broadcasts).journal" }

        /// The topic that a source reads.
        package func topic(of source: SourceKind) -> String {
            switch source {
            case .orders: events
            case .requests: requests
            }
        }

        /// The sources that are read.
        package var sources: [SourceKind] { SourceKind.allCases.filter { !topic(of: $0).isEmpty } }

        /// The source that reads a topic; nil where none does.
        package func source(of topic: String) -> SourceKind? {
            sources.first { self.topic(of: $0) == topic }
        }

        package func topicPartition(of partition: SourcePartition) -> TopicPartition {
            TopicPartition(topic: topic(of: partition.source), partition: partition.number)
        }

        package func sourcePartition(of partition: TopicPartition) -> SourcePartition? {
            source(of: partition.topic).map { SourcePartition($0, partition.partition) }
        }
    }

    /// Where to start reading a partition that has no committed offset.
    public enum StartPosition: Sendable, Equatable {
        case earliest
        case latest
        /// The first record at or after this time.
        case time(WallTime)

        /// `earliest`, `latest`, an ISO time such as `2026-11-21T10:00:00Z`, a date (its midnight in UTC), or so long ago,
        /// such as `-1h`; nil where the text is none of these.
        ///
        /// - Parameter now: when the program was started.
        public init?(_ text: String, now: WallTime) {
            switch text.lowercased() {
            case "earliest": self = .earliest
            case "latest": self = .latest
            default:
                guard let time = GivenTime(text) else { return nil }
                self = .time(time.time(now: now))
            }
        }
    }

    /// How much of broadcasts is sent.
    public struct BroadcastLimits: Sendable, Equatable {
        /// The most broadcasts that a device gets which joins their channel after they were sent; the newest ones.
        public var mostLate = 10
        /// The dispatch records of broadcasts a second that a process writes; 0: no limit.
        public var rate = 0

        public init() {}
    }

    public typealias LogFormat = LogStream.Format
}
