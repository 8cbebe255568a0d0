import CarillonTesting
import Foundation
import Hosting
import KafkaClient
import KafkaSimulation
import NotificationPayload
import StageSupport
import TestSupport

@testable import Notifications
@testable import Pipeline
@testable import Streaming

/// Events, requests and subscriptions at a simulated broker, and processes that notify of them: the real worker and the
/// real follower, on real stores.
///
/// `@unchecked Sendable`: only the thread with the baton touches it.
final class PipelineSimulation: @unchecked Sendable {
    enum Input {
        case event(EventFacts)
        /// For a place's devices; some wait for all that was written of the subscriptions, below these offsets.
        case request(id: String, place: String, after: [Int]?)
        case unreadable
        case subscription(place: String, device: String, isSubscribed: Bool)
    }

    /// 2025-07-07T07:00:15Z, a Monday.
    static let start: WallTime = 1_751_871_615_000
    static let maxLateness: Int64 = 1_000_000
    static let places = ["p1", "p2"]
    static let partitions: Int32 = 3
    /// By their hashes.
    static let devices = Dictionary(
        uniqueKeysWithValues: (0..<4).map { (Subscription.to("p1", "d\($0)").tokenHash, "d\($0)") })

    let kafka: SimulatedKafka
    let configuration: PipelineConfiguration
    let isFaulty: Bool
    /// What the records of the inputs say, by offset; markers and aborted records say nothing.
    private(set) var inputs: [TopicPartition: [Int: Input]] = [:]
    /// The last stable offsets since when, ascending.
    private var ends: [TopicPartition: [(since: WallTime, end: Int)]] = [:]
    private var number = 0
    /// The folders of each slot, the newest last, and those that a process has.
    private var volumes: [Int: [Int]] = [:]
    private var volumesInUse: Set<[Int]> = []
    /// What the processes that have ended have counted.
    private(set) var counts = Counts()
    private(set) var violations: [String] = []
    /// When it was looked last whether all is done.
    private(set) var doneAt = start
    /// What the oracle has seen, so that a test can tell that it shows something.
    private(set) var happened: [String: Int] = [:]
    private let folder = TemporaryFolder(isInMemory: true)

    private var baton: Baton { kafka.baton }
    /// See ``Baton/trace``.
    var trace: UInt64 { baton.trace }

    init(seed: UInt64, isFaulty: Bool = true) throws {
        self.isFaulty = isFaulty
        var orders = OrderRules()
        orders.schedule?.maxLateness = .milliseconds(Self.maxLateness)
        var configuration = PipelineConfiguration(
            kafka: [:], stateDirectory: folder.path, rules: try ExtractionRules(), instanceID: "test", workers: 1)
        configuration.orders = orders
        configuration.topics.requests = "notifications.requests"
        configuration.subscriptionsMaxLag = .seconds(5)
        configuration.commitMaxRecords = 4
        configuration.commitMaxEvents = 12
        configuration.maxDevicesPerEvent = 100
        self.configuration = configuration
        let topics = configuration.topics
        kafka = SimulatedKafka(
            seed: seed,
            topics: [
                topics.events: Self.partitions, topics.topic(of: .requests): 1, topics.subscriptions: 2,
                topics.dispatch: 1, topics.deadLetters: 1, topics.journal: 1,
            ], start: Self.start)
        for source in topics.sources {
            let count = source == .orders ? Self.partitions : 1
            for number in 0..<count {
                let metadata = StartRules.metadata(of: source, partitionCount: count, now: Self.start)
                kafka.offsets[topics.topicPartition(of: SourcePartition(source, number))] = CommittedOffset(
                    offset: Offset(0), metadata: metadata.text)
            }
        }
    }

    /// The partitions of events and requests.
    var sources: [TopicPartition] { kafka.offsets.keys.sorted() }

    func subscriptions(_ number: Int) -> TopicPartition {
        TopicPartition(topic: configuration.topics.subscriptions, partition: Int32(number))
    }

    /// What was committed of a partition, in its order.
    func committed(
        _ topicPartition: TopicPartition, from start: Int64, to end: Int64
    ) -> [(offset: Int, time: WallTime, input: Input)] {
        guard let entries = kafka.logs[topicPartition]?.entries else { return [] }
        return (Int(start)..<max(Int(start), min(Int(end), entries.count))).compactMap { offset in
            guard entries[offset].isCommitted, let input = inputs[topicPartition]?[offset] else { return nil }
            return (offset, entries[offset].record?.timestamp ?? .epoch, input)
        }
    }

    /// The last stable offset at a time.
    func end(of topicPartition: TopicPartition, at time: WallTime) -> Int {
        ends[topicPartition]?.last { $0.since <= time }?.end ?? 0
    }

    // MARK: What happens

    func run() {
        let role = SimulatedRole(kafka) { [self] slot, process, host, isStatic in
            try work(slot, process, host, isStatic)
        }
        arrive(at: role)
        role.run(
            for: .seconds(baton.draw(50...110)), isFaulty: isFaulty,
            outage: isFaulty && baton.isOne(of: 2) ? .seconds(baton.draw(60...2_400)) : .zero
        ) { [self] in
            doneAt = kafka.now
            return sources.allSatisfy { topicPartition in
                let last = kafka.logs[topicPartition]?.committedOffsets.last ?? -1
                return kafka.offsets[topicPartition]?.offset.value ?? 0 > last
            } && PipelineOracle(self).forgotten.isEmpty
        }
        let oracle = PipelineOracle(self)
        happened = oracle.happened
        violations = role.violations + oracle.problems + oracle.forgotten + miscounts
    }

    /// What a process does not know to be committed is not counted.
    private var miscounts: [String] {
        let drops = [TimerDrop.tooLate, .picked, .superseded].map { ($0.label, counts.dropped($0)) }
        let counted = [
            ("transactions", counts.transactions), ("events", counts.events), ("dead letters", counts.deadLetters),
            ("pushes", counts.dispatches), ("timers", counts.timers),
        ]
        return (drops + counted).compactMap { name, count in
            let most = happened[name] ?? 0
            return count > most || !isFaulty && count < most ? "\(count) \(name) were counted, of \(most)" : nil
        }
    }

    /// Some records, one by one or in a transaction, which ends in each partition by itself.
    private func arrive(at role: SimulatedRole) {
        baton.after(baton.milliseconds(50...1_000)) { [self] in
            guard !role.isOver else { return }
            defer { arrive(at: role) }
            if role.isDown { return }
            number += 1
            let producer = baton.isOne(of: 4) ? number : nil
            let topicPartitions = Set((0..<baton.draw(1...4)).map { _ in write(by: producer) })
            for topicPartition in topicPartitions.sorted() {
                guard let producer else { continue }
                let isCommit = !baton.isOne(of: 3)
                baton.after(baton.milliseconds(0...2_000)) { [self] in
                    kafka.mark(topicPartition, of: producer, isCommit: isCommit)
                    noteEnd(of: topicPartition)
                }
            }
        }
    }

    private func noteEnd(of topicPartition: TopicPartition) {
        ends[topicPartition, default: []].append((kafka.now, kafka.logs[topicPartition]?.lastStable ?? 0))
    }

    private func write(by producer: Int?) -> TopicPartition {
        number += 1
        let (record, topicPartition, input): (ProducerRecord, TopicPartition, Input) =
            switch baton.draw(0...9) {
            case 0..<6: event()
            case 6: request()
            default: subscription()
            }
        let offset = kafka.append(record, to: topicPartition, by: producer)
        inputs[topicPartition, default: [:]][offset] = input
        noteEnd(of: topicPartition)
        return topicPartition
    }

    private func event() -> (ProducerRecord, TopicPartition, Input) {
        let order = baton.draw(0...NaiveOrders.mostOrders - 1)
        let topicPartition = TopicPartition(
            topic: configuration.topics.events, partition: Int32(order) % Self.partitions)
        if baton.isOne(of: 15) {
            return (ProducerRecord(key: nil, value: Array("{".utf8)), topicPartition, .unreadable)
        }
        let known = inputs[topicPartition]?.keys.sorted().suffix(12).randomElement(using: &baton.generator)
        if baton.isOne(of: 8), let known, let record = kafka.logs[topicPartition]?.entries[known].record,
            let input = inputs[topicPartition]?[known]
        {
            return (ProducerRecord(key: record.key, value: record.value), topicPartition, input)
        }
        let (type, name): (EventType, String) =
            switch baton.draw(0...3) {
            case 0: (.orderCreated, "ORDER_CREATED")
            case 1: (.unpickedOrdersReminder, "UNPICKED_ORDERS_REMINDER")
            default: (.orderStatusChanged, "ORDER_STATUS_CHANGED")
            }
        let statuses = ["pending", "pending", "pending", "pending", "processing", "picked", "cancelled", "collected"]
        var facts = EventFacts(
            order: "o\(order)", type: type, status: statuses.randomElement(using: &baton.generator),
            id: baton.isOne(of: 7) ? nil : "e\(number)",
            occurred: baton.isOne(of: 10) ? kafka.now - Int64(baton.draw(0...60_000)) : kafka.now)
        var slot: String?
        if !baton.isOne(of: 3) {
            // Its start or one of its reminders is soon; several are due at the same time.
            let soon = kafka.now + Int64(baton.draw(30_000...75_000)) - Int64(baton.draw(0...3)) * 900_000
            let start = soon - soon.milliseconds % 60_000
            slot = "\(start.iso8601.prefix(10)) \(start.iso8601.dropFirst(11).prefix(5))-23:30"
            facts.start = start
        }
        let sample = StageSupport.event(
            facts.order, name, status: facts.status, slot: slot, at: kafka.now, occurred: facts.occurred, id: facts.id,
            place: Self.place(of: facts.order))
        return (ProducerRecord(key: Array(facts.order.utf8), value: sample.value), topicPartition, .event(facts))
    }

    /// Of an order.
    static func place(of order: String) -> String { places[(Int(order.dropFirst()) ?? 0) % places.count] }

    private func request() -> (ProducerRecord, TopicPartition, Input) {
        let topicPartition = TopicPartition(topic: configuration.topics.topic(of: .requests), partition: 0)
        let known = inputs[topicPartition]?.keys.sorted().suffix(20).randomElement(using: &baton.generator)
        if baton.isOne(of: 3), let known, let record = kafka.logs[topicPartition]?.entries[known].record,
            let input = inputs[topicPartition]?[known]?.withoutWaiting
        {
            // With the same content or with another one.
            let more = baton.isOne(of: 2) ? [] : Array(" ".utf8)
            return (ProducerRecord(key: record.key, value: (record.value ?? []) + more), topicPartition, input)
        }
        let place = Self.places[baton.draw(0...1)]
        let isReadable = !baton.isOne(of: 5)
        let text =
            "{\"request_id\":\"r\(number)\",\"audience\":\"\(isReadable ? "place" : "team")/\(place)\","
            + "\"app\":{\"title\":\"t\",\"body\":\"b\",\"data\":{\"type\":\"NewBill\"}}}"
        let waits = baton.isOne(of: 2)
        let headers = waits ? [RecordHeader(AfterHeader.name, Array("\(number)".utf8))] : []
        let written = (0..<2).map { kafka.logs[subscriptions($0)]?.entries.count ?? 0 }
        return (
            ProducerRecord(key: nil, value: Array(text.utf8), headers: headers), topicPartition,
            isReadable ? .request(id: "r\(number)", place: place, after: waits ? written : nil) : .unreadable
        )
    }

    private func subscription() -> (ProducerRecord, TopicPartition, Input) {
        let (place, device) = (Self.places[baton.draw(0...1)], "d\(baton.draw(0...Self.devices.count - 1))")
        let isSubscribed = !baton.isOne(of: 3)
        let subscription = Subscription.to(place, device)
        let key = Array(subscription.key.utf8)
        return (
            ProducerRecord(key: key, value: isSubscribed ? subscription.encoded() : nil),
            subscriptions(Int(Murmur2.partition(of: key, count: 2))),
            .subscription(place: place, device: device, isSubscribed: isSubscribed)
        )
    }

    // MARK: A process

    /// What a process keeps is lost now and then, or is that of long ago; none has what another one has.
    private func volume(of slot: Int) -> [Int] {
        let known = (volumes[slot] ?? []).map { [slot, $0] }.filter { !volumesInUse.contains($0) }
        let old = baton.isOne(of: 10) ? known.randomElement(using: &baton.generator) : known.last
        if let old, !baton.isOne(of: 7) { return old }
        volumes[slot, default: []].append(volumes[slot]?.count ?? 0)
        return [slot, (volumes[slot]?.count ?? 1) - 1]
    }

    private func work(_ slot: Int, _ process: SimulatedProcess, _ host: RoleHost, _ isStatic: Bool) throws {
        let volume = volume(of: slot)
        volumesInUse.insert(volume)
        defer { volumesInUse.remove(volume) }
        var configuration = configuration
        configuration.staticMembership = isStatic
        configuration.stateDirectory += "/\(volume[0])/\(volume[1])"
        let state = try StateFolder(path: configuration.stateDirectory)
        let context = WorkerContext(
            host: host, configuration: configuration, audienceRule: OrderAudiences(), clients: process,
            meter: PipelineMeter(metrics: Metrics()))
        defer { counts.add(context.meter.reading.counts) }
        let topicPartitions = (0..<2).map(subscriptions)
        let now = context.clock.now()
        let found = try host.untilItWorks(.silent) { () throws(KafkaError) in
            try process.endOffsets(topicPartitions, [:], { _ in })
        }
        let topic = SubscriptionTopic(
            name: configuration.topics.subscriptions, startOffsets: [0, 0],
            endOffsets: topicPartitions.map { found[$0]?.value ?? 0 }, deleteRetention: .seconds(60))
        let table = try SubscriptionTable.open(directory: state.table, topic: topic, now: now).table
        let following = Following()
        baton.start { following.follow(table, topic, context) }
        let number = Slot(instance: "\(slot)", number: 0)
        let result = Result {
            var worker = try StreamWorker(
                PipelineTenant.contract(of: number, context), host, context.meter.metrics, logger: .silent
            ) { try PipelineTenant(number, context, $0, recipients: .table(table), logger: .silent) }
            let result = Result { try worker.run() }
            worker.close()
            try result.get()
        }
        host.stop()
        while following.result == nil { baton.pause(.milliseconds(20)) }
        try table.close()
        try result.get()
        try following.result?.get()
    }

    /// `@unchecked Sendable`: only the thread with the baton touches it.
    private final class Following: @unchecked Sendable {
        /// Nil while it runs.
        var result: Result<Void, any Error>?

        func follow(_ table: SubscriptionTable, _ topic: SubscriptionTopic, _ context: WorkerContext) {
            result = Result {
                // Without it the process cannot work.
                defer { context.host.stop() }
                var follower = try TableFollower(table: table, topic: topic, context: context, logger: .silent)
                try follower.run()
            }
        }
    }
}

extension PipelineSimulation.Input {
    /// What a record says that has no headers.
    fileprivate var withoutWaiting: Self {
        switch self {
        case .request(let id, let place, _): .request(id: id, place: place, after: nil)
        case .event, .unreadable, .subscription: self
        }
    }
}
