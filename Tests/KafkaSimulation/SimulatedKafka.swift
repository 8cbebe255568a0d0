import KafkaClient

/// A cluster with one group, in memory: what the broker of docs/kafka.md does, by one seed.
///
/// `@unchecked Sendable`: only the thread with the baton touches it.
package final class SimulatedKafka: @unchecked Sendable {
    /// How often what goes wrong: once in so many times; 0: never.
    package struct Faults {
        /// An answer to EndTxn or InitProducerId that is lost, and a request that is.
        package var lostAnswer = 0
        package var lostRequest = 0
        /// A request that is sent twice: the second copy comes late.
        package var copy = 0
        package var slowMarker = 0
        package var failedProducer = 0
        package var failedConsumer = 0
        package var failedSeek = 0
        package var stuckConsumer = 0
        /// Records that come late.
        package var slowFetch = 0
        /// A process that is stopped in a call.
        package var stop = 0
        package var abortable = 0

        package init() {}
    }

    package enum State { case open, committed, aborted }

    package struct Entry {
        /// Nil for a marker.
        package let record: ProducerRecord?
        let producer: Int?
        /// 0 for what no transaction wrote.
        package let transaction: Int
        package var state: State
        /// Compaction has taken it away.
        package var isRemoved = false

        package var isCommitted: Bool {
            guard case .committed = state else { return false }
            return record != nil
        }
    }

    /// What a transaction committed of the group's offsets.
    package struct Commit {
        package let transaction: Int
        package let before: [TopicPartition: CommittedOffset]
        package let after: [TopicPartition: CommittedOffset]
    }

    package struct Log {
        package var entries: [Entry] = []
        package fileprivate(set) var start = 0
        /// By producer: the first offset of its open transaction.
        var open: [Int: Int] = [:]

        package var lastStable: Int { open.values.min() ?? entries.count }
        package var committedOffsets: [Int] { (start..<entries.count).filter { entries[$0].isCommitted } }
        package var committed: [ProducerRecord] { entries.filter(\.isCommitted).compactMap(\.record) }
    }

    package struct Coordinated {
        enum Phase { case none, open, ending }

        let producer: Int
        var epoch = 0
        var phase = Phase.none
        /// Of the last transaction; 0 before the first.
        var number = 0
        var isCommit = false
        var partitions: Set<TopicPartition> = []
        var hasOffsets = false
        var markersLeft = 0
    }

    package enum Answer { case done, busy, fenced, invalid }

    package let baton: Baton
    package var faults = Faults()
    package private(set) var logs: [TopicPartition: Log] = [:]
    private var transactions: [String: Coordinated] = [:]
    private var transactionCount = 0
    package var offsets: [TopicPartition: CommittedOffset] = [:]
    package private(set) var commits: [Commit] = []
    /// What open transactions have sent, by producer.
    private(set) var pending: [Int: [TopicPartition: CommittedOffset]] = [:]
    let group: SimulatedGroup
    /// When processes were stopped in a call.
    package internal(set) var freezes: [Range<WallTime>] = []
    /// What the members' metadata stands for.
    var memberships: [(member: Int, generation: Int)] = []

    private let start: WallTime

    /// - Parameter start: what the clock shows at first.
    package init(seed: UInt64, topics: [String: Int32], start: WallTime = WallTime(milliseconds: 1_000_000)) {
        baton = Baton(seed: seed)
        self.start = start
        group = SimulatedGroup(baton)
        for (topic, count) in topics {
            for number in 0..<count { logs[TopicPartition(topic: topic, partition: number)] = Log() }
        }
        group.partitions = { [unowned self] in $0.flatMap { self.partitions(of: $0) } }
    }

    package var now: WallTime { start + baton.now.wholeMilliseconds }

    func partitions(of topic: String) -> [TopicPartition] { logs.keys.filter { $0.topic == topic }.sorted() }

    /// The session of a process that has been away for so long ends.
    func watch(_ process: SimulatedProcess, from start: Duration) {
        baton.after(group.session) { [unowned self] in
            guard process.isAway else { return }
            // What is away for longer than its session is away from `start` on, or has been looked at later.
            if process.isDead || process.cutUntil > baton.now {
                for member in process.members.sorted() { group.remove(member) }
            }
        }
    }

    // MARK: Records

    /// - Returns: its offset.
    @discardableResult
    package func append(
        _ record: ProducerRecord, to partition: TopicPartition, by producer: Int? = nil, in transaction: Int = 0
    ) -> Int {
        guard var log = logs.removeValue(forKey: partition) else { return -1 }
        defer { logs[partition] = log }
        let offset = log.entries.count
        if let producer, log.open[producer] == nil { log.open[producer] = offset }
        var record = record
        record.timestamp = record.timestamp ?? now
        log.entries.append(
            Entry(
                record: record, producer: producer, transaction: transaction,
                state: producer == nil ? .committed : .open))
        return offset
    }

    /// Compaction takes a record away.
    package func remove(_ offset: Int, of partition: TopicPartition) {
        logs[partition]?.entries[offset].isRemoved = true
    }

    /// The log begins after so many records that retention has deleted.
    package func forget(_ count: Int, of partition: TopicPartition) {
        for _ in 0..<count { append(ProducerRecord(key: nil, value: nil), to: partition) }
        logs[partition]?.start = count
    }

    package func mark(_ partition: TopicPartition, of producer: Int, isCommit: Bool) {
        guard var log = logs.removeValue(forKey: partition) else { return }
        defer { logs[partition] = log }
        guard let first = log.open.removeValue(forKey: producer) else { return }
        let state = isCommit ? State.committed : .aborted
        for index in first..<log.entries.count where log.entries[index].producer == producer {
            if case .open = log.entries[index].state { log.entries[index].state = state }
        }
        log.entries.append(Entry(record: nil, producer: producer, transaction: 0, state: state))
    }

    /// Reads what is committed.
    ///
    /// - Returns: the next offset.
    func read(
        _ partition: TopicPartition, from first: Int, upTo end: Int, limit: Int, into batch: inout RecordBatch
    ) -> Int {
        var position = first
        guard let entries = logs[partition]?.entries else { return position }
        while position < end, batch.count < limit {
            let entry = entries[position]
            if entry.isCommitted, !entry.isRemoved, let record = entry.record {
                batch.append(copying: record, at: Int64(position), of: partition)
            }
            position += 1
        }
        return position
    }

    /// - Parameter isStable: whether what an open transaction has written does not count, nor what is behind it.
    func ends(of partitions: [TopicPartition], isStable: Bool) -> [TopicPartition: Offset] {
        var ends: [TopicPartition: Offset] = [:]
        for partition in partitions {
            let log = logs[partition]
            ends[partition] = Offset(Int64((isStable ? log?.lastStable : log?.entries.count) ?? 0))
        }
        return ends
    }

    func firstOffset(of partition: TopicPartition, since time: WallTime) -> Int {
        guard let log = logs[partition] else { return 0 }
        let found = log.entries.dropFirst(log.start).firstIndex { $0.record?.timestamp.map { $0 >= time } ?? false }
        return found ?? log.lastStable
    }

    // MARK: Transactions

    /// InitProducerId: fences who has the id, and ends what is open of it.
    func initialize(_ id: String) -> (answer: Answer, epoch: Int) {
        var entry = transactions[id] ?? Coordinated(producer: 1_000 + transactions.count)
        defer { transactions[id] = entry }
        switch entry.phase {
        case .ending: return (.busy, 0)
        case .open:
            entry.epoch += 1
            transactions[id] = entry
            prepare(id, isCommit: false)
            entry = transactions[id] ?? entry
            return (.busy, 0)
        case .none:
            entry.epoch += 1
            return (.done, entry.epoch)
        }
    }

    /// AddPartitionsToTxn and AddOffsetsToTxn.
    func add(
        _ partitions: Set<TopicPartition>, hasOffsets: Bool = false, to id: String, _ epoch: Int, timeout: Duration
    ) -> (answer: Answer, producer: Int, transaction: Int) {
        guard var entry = transactions[id], entry.epoch == epoch else { return (.fenced, 0, 0) }
        if case .ending = entry.phase { return (.busy, 0, 0) }
        if case .none = entry.phase {
            entry.phase = .open
            transactionCount += 1
            entry.number = transactionCount
            entry.partitions = []
            entry.hasOffsets = false
            let number = entry.number
            baton.after(timeout) { [unowned self] in
                guard let entry = transactions[id], entry.number == number, case .open = entry.phase else { return }
                transactions[id]?.epoch += 1
                prepare(id, isCommit: false)
            }
        }
        entry.partitions.formUnion(partitions)
        if hasOffsets { entry.hasOffsets = true }
        transactions[id] = entry
        return (.done, entry.producer, entry.number)
    }

    /// Whether the producer with this epoch is still the one of its id, in a transaction that has offsets.
    func takesOffsets(_ id: String, _ epoch: Int) -> Bool {
        guard let entry = transactions[id], case .open = entry.phase else { return false }
        return entry.epoch == epoch && entry.hasOffsets
    }

    /// What is open, for people.
    package var summary: String {
        let open = transactions.sorted { $0.key < $1.key }.map { "\($0): \($1.phase) \($1.markersLeft)" }
        let ends = logs.sorted { $0.key < $1.key }.map { "\($0) \($1.lastStable) of \($1.entries.count)" }
        let sent = pending.map { "\($0): \($1.count)" }
        return "\(baton.now), \(open), \(ends), pending \(sent), \(offsets), \(group.summary)"
    }

    func send(_ sent: [TopicPartition: CommittedOffset], by producer: Int) {
        pending[producer, default: [:]].merge(sent) { $1 }
    }

    /// EndTxn.
    func end(_ id: String, _ epoch: Int, isCommit: Bool) -> Answer {
        guard let entry = transactions[id], entry.epoch == epoch else { return .fenced }
        switch entry.phase {
        case .none, .ending: return entry.number > 0 && entry.isCommit == isCommit ? .done : .invalid
        case .open:
            prepare(id, isCommit: isCommit)
            return .done
        }
    }

    /// The end is decided; its markers are written later, each by itself.
    private func prepare(_ id: String, isCommit: Bool) {
        guard var entry = transactions[id] else { return }
        entry.phase = .ending
        entry.isCommit = isCommit
        entry.markersLeft = entry.partitions.count + (entry.hasOffsets ? 1 : 0)
        transactions[id] = entry
        let (producer, number) = (entry.producer, entry.number)
        func later(_ body: @escaping () -> Void) {
            let delay =
                baton.isOne(of: faults.slowMarker) ? baton.milliseconds(500...8_000) : baton.milliseconds(0...20)
            baton.after(delay) { [unowned self] in
                body()
                transactions[id]?.markersLeft -= 1
                if transactions[id]?.markersLeft == 0 { transactions[id]?.phase = .none }
            }
        }
        for partition in entry.partitions.sorted() {
            later { [unowned self] in mark(partition, of: producer, isCommit: isCommit) }
        }
        if entry.hasOffsets {
            later { [unowned self] in
                let sent = pending.removeValue(forKey: producer) ?? [:]
                guard isCommit else { return }
                commits.append(
                    Commit(transaction: number, before: offsets.filter { sent[$0.key] != nil }, after: sent))
                offsets.merge(sent) { $1 }
            }
        }
        if entry.markersLeft == 0 { transactions[id]?.phase = .none }
    }
}
