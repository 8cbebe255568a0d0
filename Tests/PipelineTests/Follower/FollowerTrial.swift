import Foundation
import KafkaClient
import StateStore
import Streaming
import Synchronization
import Telemetry
import Testing

@testable import Notifications
@testable import Pipeline

/// A store in memory that can be made full.
final class FullStore: OrderedStore {
    let isFull = Atomic<Bool>(false)
    private let store = MemoryStore()

    func makeReader() throws(StoreError) -> any StoreReader { try store.makeReader() }
    func close() throws(StoreError) { try store.close() }

    func write(_ body: (any StoreWriter) throws(StoreError) -> Void) throws(StoreError) {
        guard !isFull.load(ordering: .relaxed) else { throw StoreError(.diskFull, "no room on the disk") }
        try store.write(body)
    }
}

/// A follower on librdkafka's own cluster, driven a round at a time.
struct FollowerTrial: ~Copyable {
    static let topic = "notifications.subscriptions"
    let cluster: MockCluster
    let context: WorkerContext
    let store: FullStore
    let table: SubscriptionTable
    var follower: TableFollower
    private var producer: Producer
    private let producerTopic: ProducerTopic

    /// - Parameters:
    ///   - partitions: of the topic; `expected` is how many it had when the table was opened.
    ///   - folder: the state folder, with what it remembers of ends for lack of memory.
    ///   - runBytes: what is laid aside at once while the table is filled.
    init(
        partitions: Int = 2, expected: Int? = nil, maxLag: Duration = .seconds(30), runBytes: Int = 32 << 20,
        watch: ConsumerWatch = ConsumerWatch(), folder: String? = nil
    ) throws {
        let cluster = try MockCluster()
        try cluster.createTopic(Self.topic, partitions: partitions)
        let settings = ["bootstrap.servers": cluster.bootstrapServers, "fetch.wait.max.ms": "10"]
        var configuration = PipelineConfiguration(
            kafka: settings, stateDirectory: "/nonexistent", rules: try ExtractionRules())
        configuration.subscriptionsMaxLag = maxLag
        let context = WorkerContext(
            configuration: configuration, audienceRule: OrderAudiences(), meter: PipelineMeter(metrics: Metrics()))
        context.board.started()
        if let folder { context.holds.open(in: folder) }
        let offsets = [Int64](repeating: 0, count: expected ?? partitions)
        let now = context.clock.now()
        let store = FullStore()
        let table = SubscriptionTable(store: store, topic: Self.topic, position: .beginning(at: offsets, time: now))
        let follower = try TableFollower(
            table: table,
            topic: SubscriptionTopic(
                name: Self.topic, startOffsets: offsets, endOffsets: offsets, deleteRetention: .seconds(7_200)),
            context: context, logger: Logger(label: "test", level: .critical),
            waiting: WaitingChanges(in: NSTemporaryDirectory(), byteLimit: runBytes), watch: watch)
        var producer = try Producer(settings: settings)
        let producerTopic = try producer.topic(Self.topic)
        self.producerTopic = producerTopic
        self.cluster = cluster
        self.context = context
        self.store = store
        self.table = table
        self.follower = follower
        self.producer = producer
    }

    /// Subscribes these tokens to a place, by records of the topic.
    mutating func subscribe(_ tokens: some Sequence<String>) throws {
        for token in tokens {
            let subscription = Subscription(audience: "place/7", token: token, platform: .fcm, app: "a")
            try producer.produce(
                ProducerRecord(key: Array(subscription.key.utf8), value: subscription.encoded()), to: producerTopic)
        }
        try producer.flush(timeout: .seconds(30))
    }

    /// Writes a record of a token's subscription into a partition, whichever it belongs in; a null unsubscribes.
    mutating func write(
        _ token: String, isSubscribed: Bool, in partition: Int32, headers: [RecordHeader] = []
    ) throws {
        let subscription = Subscription(audience: "place/7", token: token, platform: .fcm, app: "a")
        try producer.produce(
            ProducerRecord(
                key: Array(subscription.key.utf8), value: isSubscribed ? subscription.encoded() : nil, headers: headers,
                partition: partition), to: producerTopic)
        try producer.flush(timeout: .seconds(30))
    }

    /// The partition of a token's key.
    static func home(_ token: String, among partitions: Int) -> Int32 {
        let subscription = Subscription(audience: "place/7", token: token, platform: .fcm, app: "a")
        return Murmur2.partition(of: Array(subscription.key.utf8), count: Int32(partitions))
    }

    /// Ends these tokens' subscriptions.
    mutating func unsubscribe(_ tokens: some Sequence<String>) throws {
        for token in tokens {
            let subscription = Subscription(audience: "place/7", token: token, platform: .fcm, app: "a")
            try producer.produce(ProducerRecord(key: Array(subscription.key.utf8), value: nil), to: producerTopic)
        }
        try producer.flush(timeout: .seconds(30))
    }

    /// Rounds until the condition holds; a failure after 30 s.
    mutating func rounds(
        until what: Comment, sourceLocation: SourceLocation = #_sourceLocation,
        _ condition: (borrowing FollowerTrial) throws -> Bool
    ) throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while try !condition(self) {
            guard .now < deadline else {
                Issue.record(what, sourceLocation: sourceLocation)
                return
            }
            try follower.round()
        }
    }

    /// Makes the follower's clock say that the table is so old.
    mutating func age(by duration: Duration) {
        follower.freshness = TableFreshness(
            maxLag: context.configuration.subscriptionsMaxLag, largestAge: follower.topic.largestAge,
            asOf: .now - duration)
    }

    /// Puts a device into the table that the topic does not have.
    func addStranger() throws {
        let subscription = Subscription(audience: "place/7", token: "stranger", platform: .fcm, app: "a")
        var changes = SubscriptionChanges()
        Array(subscription.key.utf8).withUnsafeBytes { key in
            subscription.encoded().withUnsafeBytes { value in
                changes.append(SubscriptionRecord(partition: 0, offset: 0, key: key, value: value))
            }
        }
        _ = try table.apply(&changes, table.position)
    }
}
