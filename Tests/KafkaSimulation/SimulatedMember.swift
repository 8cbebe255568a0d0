import KafkaClient
import Streaming

/// A consumer, which is a member of the simulated group if it has a contract.
struct SimulatedMember: ~Copyable, MemberClient {
    private let process: SimulatedProcess
    private let instance: String?
    /// Nil: its owner assigns.
    private let topics: [String]?
    private var member: Int?
    private var generation = 0
    private var events: [ConsumerEvent] = []
    /// The group has assigned something that was not revoked.
    private var isAssigned = false
    /// The owner has not answered a revocation.
    private var isRevoking = false
    private var positions: [TopicPartition: Int] = [:]
    /// The ends of partitions that were reported.
    private var reported: [TopicPartition: Int] = [:]
    private(set) var fatalError: KafkaError?
    /// It gets nothing more (docs/kafka.md 11); nothing before.
    private var isStuck = false
    private var silentUntil = Duration.zero
    /// The owner has not answered an assignment, or was not told since where its partitions are (docs/kafka.md 6).
    private var isAssigning = false
    private var isUnassigned = false

    private var kafka: SimulatedKafka { process.kafka }
    private var baton: Baton { process.kafka.baton }

    /// Whether it knows of ends that are committed, as a reader of committed records does.
    private let isStable: Bool

    init(_ process: SimulatedProcess, _ contract: Contract?, isStable: Bool = true) {
        self.process = process
        self.isStable = isStable
        instance = contract.flatMap { $0.isStatic ? $0.slot.groupInstanceID(group: $0.group) : nil }
        topics = contract?.inputs
    }

    var assignment: [TopicPartition] { positions.keys.sorted() }

    // MARK: The group

    mutating func nextEvent(timeout: Duration) -> ConsumerEvent? {
        process.pause(.microseconds(baton.draw(10...500)))
        serve()
        if events.isEmpty, timeout > .zero {
            process.pause(timeout)
            serve()
        }
        return events.isEmpty ? nil : events.removeFirst()
    }

    private mutating func serve() {
        guard let topics, fatalError == nil, !process.isAway, !isRevoking, !isAssigning else { return }
        if baton.isOne(of: kafka.faults.failedConsumer) { return fail(.failed(.member, "")) }
        guard let member else {
            let number = kafka.group.join(instance: instance, topics: topics)
            process.members.insert(number)
            member = number
            return
        }
        switch kafka.group.news(for: member) {
        case .nothing: return
        case .rejoin: if isAssigned { revoke(isLost: false) } else { kafka.group.rejoin(member) }
        case .assigned(let partitions):
            isAssigned = true
            isAssigning = true
            generation = kafka.group.generation
            events.append(.assign(partitions))
        case .unknown:
            self.member = nil
            if isAssigned { revoke(isLost: true) }
        case .fenced: fail(.fencedMember)
        }
    }

    private mutating func revoke(isLost: Bool) {
        isRevoking = true
        events.append(.revoke(assignment, isLost: isLost))
    }

    private mutating func fail(_ error: KafkaError) {
        fatalError = error
        events.append(.error(error))
        guard let member else { return }
        let group = kafka.group
        baton.after(group.session) { group.remove(member) }
    }

    mutating func assign(_ positions: [TopicPartition: Offset]) throws(KafkaError) {
        isAssigning = false
        self.positions = positions.mapValues { Int($0.value) }
        reported = [:]
        if !positions.isEmpty, isUnassigned, baton.isOne(of: 2) { silentUntil = baton.now + .seconds(60) }
    }

    mutating func unassign() throws(KafkaError) {
        positions = [:]
        isUnassigned = true
        guard isRevoking else { return }
        isRevoking = false
        isAssigned = false
        if let member { kafka.group.rejoin(member) }
    }

    mutating func seek(to positions: [TopicPartition: Offset], timeout: Duration) throws(KafkaError) {
        try request("seek", timeout)
        if baton.isOne(of: kafka.faults.failedSeek) || !positions.keys.allSatisfy({ self.positions[$0] != nil }) {
            throw KafkaError(
                kind: .state, recovery: .recreateClient, of: .member, name: "_STATE", message: "it is not read",
                operation: "seek")
        }
        self.positions.merge(positions.mapValues { Int($0.value) }) { $1 }
        reported = [:]
        // It is carried out all the same.
        if baton.isOne(of: kafka.faults.lostAnswer) { throw .unanswered(.member, "seek") }
    }

    mutating func groupMetadata() throws(KafkaError) -> GroupMetadata {
        kafka.memberships.append((member ?? -1, generation))
        return GroupMetadata(simulated: kafka.memberships.count - 1)
    }

    mutating func leave(timeout: Duration) {
        guard instance == nil, fatalError == nil, !process.isAway, let member else { return }
        kafka.group.remove(member)
    }

    // MARK: Records

    mutating func fill(_ batch: inout RecordBatch, from number: Int, limit: Int, maxBytes: Int, timeout: Duration) {
        process.pause(.microseconds(baton.draw(10...500)))
        if baton.isOne(of: kafka.faults.stuckConsumer) { isStuck = true }
        if baton.isOne(of: kafka.faults.slowFetch) {
            silentUntil = max(silentUntil, baton.now + baton.milliseconds(500...4_000))
        }
        read(topics?[number], limit, &batch)
        guard batch.isEmpty, batch.endsOfPartition.isEmpty, timeout > .zero else { return }
        process.pause(timeout)
        read(topics?[number], limit, &batch)
    }

    private mutating func read(_ topic: String?, _ limit: Int, _ batch: inout RecordBatch) {
        guard fatalError == nil, !process.isAway, !isStuck, baton.now >= silentUntil else { return }
        let limit = min(limit, baton.draw(1...12))
        for partition in assignment where topic == nil || partition.topic == topic {
            guard let first = positions[partition] else { continue }
            let end = kafka.logs[partition]?.lastStable ?? 0
            let position = kafka.read(partition, from: first, upTo: end, limit: limit, into: &batch)
            positions[partition] = position
            if position == end, reported[partition] != position {
                reported[partition] = position
                batch.endsOfPartition.append((partition, Offset(Int64(position))))
            }
        }
    }

    mutating func waitingRecords(in queue: Int) -> Int { 0 }

    mutating func waitForRecords(in numbers: [Int]?, timeout: Duration) { process.pause(timeout) }

    // MARK: Questions

    private mutating func request(_ operation: String, _ timeout: Duration) throws(KafkaError) {
        if let fatalError { throw fatalError }
        try process.request(operation, of: topics == nil ? .reader : .member, deadline: timeout)
    }

    mutating func committed(
        _ partitions: [TopicPartition], timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: CommittedOffset] {
        try request("committed", timeout)
        isUnassigned = false
        let isPending = kafka.pending.values.contains { sent in partitions.contains { sent[$0] != nil } }
        if isPending {
            process.pause(timeout)
            throw .unanswered(.member, "committed")
        }
        return kafka.offsets.filter { partitions.contains($0.key) }
    }

    mutating func startOffsets(
        _ partitions: [TopicPartition], timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        try request("start_offsets", timeout)
        return Dictionary(uniqueKeysWithValues: partitions.map { ($0, Offset(Int64(kafka.logs[$0]?.start ?? 0))) })
    }

    mutating func endOffsets(
        _ partitions: [TopicPartition], timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        try request("end_offsets", timeout)
        return kafka.ends(of: partitions, isStable: isStable)
    }

    mutating func highWatermarks(_ partitions: [TopicPartition]) -> [TopicPartition: Offset] {
        kafka.ends(of: partitions, isStable: false)
    }

    mutating func offsets(
        at times: [TopicPartition: WallTime], timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        try request("offsets_for_times", timeout)
        return Dictionary(
            uniqueKeysWithValues: times.map { ($0, Offset(Int64(kafka.firstOffset(of: $0, since: $1)))) })
    }

    mutating func commit(_ offsets: [TopicPartition: CommittedOffset], timeout: Duration) throws(KafkaError) {
        try request("commit", timeout)
        kafka.offsets.merge(offsets) { $1 }
    }

    mutating func partitionCount(of topic: String, timeout: Duration) throws(KafkaError) -> Int {
        try request("metadata", timeout)
        return kafka.partitions(of: topic).count
    }
}
