import Foundation
import Hosting
import KafkaClient
import KafkaSimulation
import Notifications
import Pipeline
import Streaming
import Telemetry
import TestSupport

@testable import Sender

/// Pushes at a simulated broker, a provider of its own, and processes that send them: the real lane in the real worker.
///
/// `@unchecked Sendable`: only the thread with the baton touches it.
final class LaneSimulation: @unchecked Sendable {
    struct Size {
        var isFaulty = true
        var devices = 20
        var partitions: Int32 = 3
        /// Of the records, those of one device, in percent.
        var busyDevice = 0
        /// A small one is full often.
        var window = 64
        var seconds = 15...40
    }

    /// A dispatch record.
    struct ID: Hashable, CustomStringConvertible {
        var kind: PushKind
        var partition: Int32
        var source: Int64

        var description: String { "\(kind)/\(partition)/\(source)" }
    }

    struct Push {
        let id: ID
        let device: UInt64
        let expiresAt: WallTime
        let broadcast: Int?
        let collapse: String?
        let request: String?
    }

    /// A record of `topic.broadcasts`, which has the offset of its place in the list.
    struct Broadcast {
        var at: WallTime
        /// Cancelled, or replaced.
        var endedAt: WallTime?
    }

    static let start: WallTime = 1_751_875_337_000
    private static let inFlight = 8
    /// Fewer than there are pushes: a request has several.
    private static let requests = 60

    let size: Size
    let kafka: SimulatedKafka
    let provider: SimulatedProvider
    let configuration: PipelineConfiguration
    private let folder = TemporaryFolder()
    /// This lane's own, by place and offset, and by device in the order of the log. Not all are committed.
    private(set) var pushes: [ID: Push] = [:]
    private var lines: [String: [Push]] = [:]
    private(set) var broadcasts: [Broadcast] = []
    /// The records of `topic.control`, and the times when requests were cancelled.
    private var control: [(key: String, value: ControlEntry?, at: WallTime)] = []
    private var cancelledAt: [String: WallTime] = [:]
    private var pausedAt: WallTime?
    private var producers = 0
    private(set) var watches: [LaneWatch] = []
    private(set) var ends = PushEnds()
    /// Who has sent each record last, while nothing of that is committed; and of each partition.
    var senders: [LaneWatch.Copy: LaneWatch.Owner] = [:]
    var owners: [Int32: LaneWatch.Owner] = [:]
    var problems: [String] = []
    /// What has happened, so that a test can tell that it shows something.
    var happened: [String: Int] = [:]
    /// The most records that waited in Kafka at once.
    var mostWaiting = 0

    var baton: Baton { kafka.baton }
    /// See ``Baton/trace``.
    var trace: UInt64 { baton.trace }
    var now: WallTime { kafka.now }

    init(seed: UInt64, _ size: Size = Size()) throws {
        self.size = size
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let account = "\(folder.path)/account.json"
        try Data(TestCredentials.serviceAccount()).write(to: URL(fileURLWithPath: account))
        var configuration = PipelineConfiguration(
            kafka: [:], stateDirectory: folder.path, rules: try ExtractionRules(), instanceID: "test", workers: 1)
        configuration.topics.broadcasts = "broadcasts"
        configuration.topics.control = "control"
        configuration.sessionTimeout = .seconds(10)
        configuration.transactionTimeout = .seconds(20)
        configuration.delivery.credentials = [
            ProviderCredential(name: "shop", source: .serviceAccount(file: account))
        ]
        configuration.delivery.window = size.window
        configuration.delivery.inFlight = Self.inFlight
        configuration.delivery.retries = [.milliseconds(200), .seconds(1), .seconds(5)]
        configuration.delivery.longestTry = .seconds(30)
        let dispatch = configuration.topics.dispatchTopics
        let topics = dispatch.flatMap { [$0] + configuration.delivery.retryTopics(of: $0) }
        kafka = SimulatedKafka(
            seed: seed,
            topics: Dictionary(
                uniqueKeysWithValues: (topics + [configuration.topics.deliveries]).map { ($0, size.partitions) }),
            start: Self.start)
        self.configuration = configuration
        let outage = kafka.baton.draw(4...20)
        let outages = size.isFaulty && kafka.baton.isOne(of: 2) ? outage..<outage + kafka.baton.draw(5...30) : 0..<0
        provider = SimulatedProvider(
            kafka.baton, isFaulty: size.isFaulty, outage: .seconds(outages.lowerBound) ..< .seconds(outages.upperBound))
        for topic in topics {
            for partition in 0..<size.partitions {
                kafka.offsets[TopicPartition(topic: topic, partition: partition)] = CommittedOffset(
                    offset: Offset(0), metadata: LaneOffset(offset: 0, partitions: size.partitions).metadata)
            }
        }
    }

    // MARK: What happens

    func run() throws {
        let role = SimulatedRole(kafka) { [self] slot, process, host, _ in try work(slot, process, host) }
        arrive(at: role)
        role.run(for: .seconds(baton.draw(size.seconds)), isFaulty: size.isFaulty) { [self] in isDone }
        problems += role.violations
    }

    private func arrive(at role: SimulatedRole) {
        baton.after(baton.milliseconds(5...150)) { [self] in
            guard !role.isOver else { return }
            if !size.isFaulty || !baton.isOne(of: 6) {
                for _ in 0..<baton.draw(1...3) { produce(by: nil) }
            } else {
                produceInTransaction()
            }
            if size.isFaulty, baton.isOne(of: 60), !broadcasts.isEmpty {
                let over = baton.draw(0...broadcasts.count - 1)
                broadcasts[over].endedAt = broadcasts[over].endedAt ?? now
            }
            if size.isFaulty { operate() }
            arrive(at: role)
        }
    }

    /// Cancels requests, also some that come later, and pauses the provider for seconds.
    private func operate() {
        let entry = ControlEntry(why: "", by: "", at: now)
        if baton.isOne(of: 25) {
            let request = "\(baton.draw(0...Self.requests - 1))"
            cancelledAt[request] = cancelledAt[request] ?? now
            control.append(("cancel/\(request)", entry, now))
            happened["cancels", default: 0] += 1
        }
        guard pausedAt == nil, baton.isOne(of: 200) else { return }
        pausedAt = now
        control.append(("pause/fcm", entry, now))
        happened["pauses", default: 0] += 1
        baton.after(baton.milliseconds(200...6_000)) { [self] in
            pausedAt = nil
            control.append(("pause/fcm", nil, now))
        }
    }

    private func produceInTransaction() {
        producers += 1
        let producer = producers
        let topicPartitions = Set((0..<baton.draw(1...4)).map { _ in produce(by: producer) })
        let isCommit = !baton.isOne(of: 3)
        for topicPartition in topicPartitions.sorted() {
            baton.after(baton.milliseconds(0...2_000)) { [self] in
                kafka.mark(topicPartition, of: producer, isCommit: isCommit)
            }
        }
    }

    /// - Returns: where to.
    @discardableResult private func produce(by producer: Int?) -> TopicPartition {
        let kind = baton.isOne(of: 3) ? PushKind.broadcasts : .orders
        let isBusy = baton.draw(1...100) <= size.busyDevice
        let device = isBusy ? 0 : UInt64(baton.draw(0...size.devices - 1))
        let topicPartition = TopicPartition(
            topic: configuration.topics.dispatchTopics[kind.index], partition: Int32(device % UInt64(size.partitions)))
        let life = Int64(size.isFaulty ? baton.draw(300...90_000) : 600_000)
        let isOurs = !baton.isOne(of: 8)
        let broadcast = kind == .broadcasts ? broadcast() : nil
        let collapse = size.isFaulty && kind == .orders && baton.isOne(of: 4) ? (baton.isOne(of: 2) ? "a" : "b") : nil
        let request = kind == .orders && baton.isOne(of: 3) ? "\(baton.draw(0...Self.requests - 1))" : nil
        let expiresAt = now + life
        let android = collapse.map { #","android":{"collapse_key":"\#($0)"}"# } ?? ""
        var record = ProducerRecord(
            key: Array(Self.hash(device).utf8),
            value: Array(#"{"message":{"token":"t\#(device)","data":{"a":"b"}\#(android)}}"#.utf8),
            headers: [
                RecordHeader("message-id", Array("m".utf8)),
                RecordHeader("platform", Array((isOurs ? "fcm" : "apns").utf8)),
                RecordHeader("source", Array("broadcasts/0/\(broadcast ?? 0)".utf8)),
            ])
        if let request { record.headers.append(RecordHeader("request-id", Array(request.utf8))) }
        let isReadable = !baton.isOne(of: 50)
        if isReadable { record.headers.append(RecordHeader("expires-at", Array("\(expiresAt.milliseconds)".utf8))) }
        let offset = kafka.append(record, to: topicPartition, by: producer)
        guard isOurs, isReadable else { return topicPartition }
        let id = ID(kind: kind, partition: topicPartition.partition, source: Int64(offset))
        let push = Push(
            id: id, device: device, expiresAt: expiresAt, broadcast: broadcast, collapse: collapse, request: request)
        pushes[id] = push
        lines["\(kind) \(device)", default: []].append(push)
        return topicPartition
    }

    static func hash(_ device: UInt64) -> String {
        let hex = String(device, radix: 16)
        return String(repeating: "0", count: 16 - hex.count) + hex + String(repeating: "a", count: 48)
    }

    /// One whose pushes are still written: the dispatcher has stopped before a broadcast is over for long.
    private func broadcast() -> Int {
        let live = broadcasts.indices.filter { broadcasts[$0].endedAt.map { now - $0 < 500 } ?? true }
        guard !live.isEmpty, !baton.isOne(of: 8) else {
            broadcasts.append(Broadcast(at: now))
            return broadcasts.count - 1
        }
        return live[baton.draw(0...live.count - 1)]
    }

    // MARK: A process

    private func work(_ slot: Int, _ process: SimulatedProcess, _ host: RoleHost) throws {
        var configuration = configuration
        configuration.instanceID = "\(slot)"
        let logger = Logger(label: "lane \(slot)", sink: Silent())
        let metrics = Metrics()
        let follower = BroadcastFollower(configuration, logger: logger, metrics: metrics)
        let control = ControlFollower(configuration, logger: logger, metrics: metrics)
        let watch = LaneWatch(self, number: watches.count)
        watches.append(watch)
        let context = try SenderContext(
            host, configuration, follower, control, start: nil, clients: process,
            connect: { [self] _, _ in SimulatedConnection(provider, process, watch) },
            meter: SenderMeter(metrics: metrics))
        let signal = try QueueSignal()
        baton.start { [self] in follow(process, host, follower, control) }
        var worker = try StreamWorker(
            LaneTenant.contract(of: .fcm, context, signal), host, metrics, logger: logger
        ) { transaction in
            WatchedLane(
                LaneTenant(
                    .fcm, context, try LaneSenders(.fcm, context, signal: signal, logger: logger), transaction,
                    signal: signal, wasEmpty: false, patience: Patience(), logger: logger), watch)
        }
        let result = Result { try worker.run() }
        worker.close()
        try result.get()
    }

    private struct Silent: LogSink {
        func write(_ entry: LogEntry) {}
    }

    /// What a thread beside the worker learns of broadcasts and of what is cancelled and paused; sometimes it learns nothing
    /// new for seconds.
    private func follow(
        _ process: SimulatedProcess, _ host: RoleHost, _ follower: BroadcastFollower, _ controlFollower: ControlFollower
    ) {
        while !host.mustEnd {
            let asked = host.time.now()
            do {
                try process.request("read", of: .reader, deadline: .seconds(1))
                let records = broadcasts.indices.filter { broadcasts[$0].endedAt == nil }.map {
                    BroadcastRecord(offset: Int64($0), timestamp: nil, key: Array("\($0)".utf8), value: [])
                }
                follower.publish(
                    BroadcastView(records: records, reached: Int64(broadcasts.count), freshSince: asked))
                var fold = ControlFold()
                for record in control {
                    fold.take(key: Array(record.key.utf8), value: record.value?.json, at: record.at)
                }
                var view = fold.view
                view.freshSince = asked
                controlFollower.publish(view)
            } catch {}
            let isSlow = size.isFaulty && baton.isOne(of: 30)
            process.pause(isSlow ? .seconds(5) : baton.milliseconds(100...400))
        }
    }

    // MARK: What there is

    func topicPartition(_ stream: LaneStream, _ partition: Int32) -> TopicPartition {
        let dispatch = configuration.topics.dispatchTopics[stream.kind.index]
        let retries = configuration.delivery.retryTopics(of: dispatch)
        return TopicPartition(topic: stream.tier.map { retries[$0] } ?? dispatch, partition: partition)
    }

    func isCommitted(_ push: Push) -> Bool {
        kafka.logs[topicPartition(.dispatch(push.id.kind), push.id.partition)]?.entries[Int(push.id.source)].isCommitted
            ?? false
    }

    /// The pushes of the same device that are older, and those that are newer.
    func line(of push: Push) -> [Push] { lines["\(push.id.kind) \(push.device)"] ?? [] }

    /// Whether the group has an outcome of it.
    func isEnded(_ id: ID) -> Bool {
        ends.read(kafka, configuration)
        return ends.isEnded(id, kafka, configuration)
    }

    /// A broadcast's push is sent only if the broadcast was there at most a second ago.
    func isOver(_ push: Push) -> Bool {
        push.broadcast.flatMap { broadcasts[$0].endedAt }.map { now - $0 > 1_000 } ?? false
    }

    /// Whether the request of a push was cancelled, and may not be sent for that any more.
    func isCancelled(_ push: Push, for milliseconds: Int64) -> Bool {
        push.request.flatMap { cancelledAt[$0] }.map { now - $0 > milliseconds } ?? false
    }

    /// Whether the provider has been paused for so long that each process knows.
    var isPaused: Bool { pausedAt.map { now - $0 > 1_000 } ?? false }

    private var isDone: Bool {
        ends.read(kafka, configuration)
        return pushes.values.allSatisfy { !isCommitted($0) || ends.isEnded($0.id, kafka, configuration) }
            && kafka.offsets.allSatisfy { topicPartition, offset in
                offset.offset.value == Int64(kafka.logs[topicPartition]?.entries.count ?? 0)
            }
    }
}
