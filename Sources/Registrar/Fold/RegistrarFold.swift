import JSONReader
import KafkaClient
import Notifications
import Pipeline
import StateStore

/// By what a table finds the subscriptions.
enum SubscriptionIndex: Sendable {
    /// As the registrar needs it.
    case address
    /// As whoever asks who is subscribed.
    case audience

    /// So many entries may wait for the store.
    var mostPending: Int {
        switch self {
        case .address: RegistrarTable.mostPending
        // A page of an audience looks at all that wait, and an answer may wait until they are stored.
        case .audience: 4_000
        }
    }
}

/// The registrar's table with the logs that it is the fold of, and how far it is. One owner.
final class RegistrarFold {
    /// A table of this age is stored again, also without changes, in milliseconds.
    static let storesAgain: Int64 = 3_600_000
    let table: RegistrarTable
    let core: RegistrarCore
    private let topics: PipelineConfiguration.Topics
    private let cluster: String?
    private let index: SubscriptionIndex
    private var json = JSONReader()
    /// By partition of each topic that is folded: everything below is in the table.
    private(set) var positions: [TopicPartition: Int64]
    /// How many each topic has.
    private let partitions: [String: Int]
    /// By key, in bytes: its newest record, if it may have overwritten what is to be written again.
    private(set) var doubts: [ByteText: OwnWrites.Doubt] = [:]
    /// What a later start has to read again, although it is in the table.
    var needed: [Int32: Int64] = [:]
    /// The largest revision of a device or a person that was folded; nil: none was.
    private(set) var newestRevision: Int64?
    /// Records of the registrar's own topics that it cannot read.
    private(set) var foreign = 0
    /// When it had everything in its logs, or a little later.
    var time: WallTime
    /// The time that is stored with it, and that is being stored.
    private(set) var storedTime: WallTime
    private var storingTime: WallTime

    init(
        _ table: RegistrarTable, _ topics: PipelineConfiguration.Topics, by index: SubscriptionIndex = .address,
        at checkpoint: RegistrarCheckpoint
    ) {
        self.table = table
        self.topics = topics
        self.index = index
        core = RegistrarCore(table)
        cluster = checkpoint.cluster
        positions = checkpoint.positions
        partitions = Dictionary(grouping: checkpoint.positions.keys, by: \.topic).mapValues(\.count)
        (time, storedTime, storingTime) = (checkpoint.time, checkpoint.time, checkpoint.time)
    }

    /// Opens the table in a folder, or creates one. What the logs cannot bring up to date is wiped.
    ///
    /// - Parameters:
    ///   - starts: of all partitions that are to be folded, as the ends are.
    ///   - largestAge: see ``RegistrarCheckpoint/problem(cluster:ends:now:largestAge:)``.
    ///   - isKnown: whether the group has an offset; without one everything is read again.
    /// - Returns: why it is filled again, if it is.
    static func open(
        _ folder: String, _ topics: PipelineConfiguration.Topics, by index: SubscriptionIndex = .address,
        cluster: String?, starts: [TopicPartition: Offset], ends: [TopicPartition: Offset], largestAge: Int64,
        now: WallTime,
        isKnown: Bool
    ) throws(StoreError) -> (fold: RegistrarFold, rebuilt: String?) {
        let (store, opening) = try DiskStore.open(folder)
        var reason: String?
        switch opening {
        case .wiped(let why): reason = why
        case .created, .clean, .unclosed: break
        }
        let table = try RegistrarTable(store)
        if let bytes = try table.checkpoint() {
            let checkpoint = RegistrarCheckpoint(bytes)
            reason =
                checkpoint.map { $0.problem(cluster: cluster, ends: ends, now: now, largestAge: largestAge) }
                ?? "another version wrote it"
            if !isKnown { reason = "the group has no offset" }
            if reason == nil, let checkpoint { return (RegistrarFold(table, topics, by: index, at: checkpoint), nil) }
        }
        try table.close()
        try DiskStore.wipe(folder)
        let empty = RegistrarCheckpoint(cluster: cluster, time: now, positions: starts.mapValues(\.value))
        let fresh = try RegistrarTable(try DiskStore.open(folder).store)
        return (RegistrarFold(fresh, topics, by: index, at: empty), reason)
    }

    /// What is to be read of each partition, up to these ends.
    func missing(upTo ends: [TopicPartition: Offset]) -> [TopicPartition: Range<Int64>] {
        var missing: [TopicPartition: Range<Int64>] = [:]
        for (partition, end) in ends {
            guard let position = positions[partition], position < end.value else { continue }
            missing[partition] = position..<end.value
        }
        return missing
    }

    /// Takes records of its topics; others are ignored.
    func take(_ batch: borrowing RecordBatch) throws(StoreError) {
        // A record that cannot be folded ends the call: what came before it in the batch is not kept either.
        var reached: [TopicPartition: Int64] = [:]
        for number in 0..<batch.count {
            let record = batch[number]
            let partition = TopicPartition(topic: record.topic, partition: record.partition)
            guard positions[partition] != nil else { continue }
            reached[partition] = record.offset + 1
            switch record.topic {
            // A record that lies elsewhere than its key is from before the topic got more partitions.
            case topics.devices where isInPlace(record): try takeDevice(record)
            case topics.people where isInPlace(record): takePerson(record)
            case topics.erasures where isInPlace(record): try takeErasure(record)
            case topics.devices, topics.people, topics.erasures: break
            default:
                let count = partitions[topics.subscriptions] ?? 0
                switch index {
                case .address:
                    guard let change = LoggedSubscription(batch, at: number, partitions: count, &json) else { break }
                    try take(change)
                case .audience:
                    table.set(SubscriptionRecord(of: batch, at: number, partitions: count))
                }
            }
        }
        table.commit()
        self.reached(reached)
    }

    /// Whether so much waits for the store that it has to be stored before more is taken.
    var isFull: Bool { table.pendingCount >= index.mostPending }

    /// Takes a record of the subscriptions.
    func take(_ change: LoggedSubscription) throws(StoreError) {
        var own: OwnWrites.Own?
        if let command = change.command, let mark = change.mark {
            // A null is right unless there was something newer than its evidence.
            let known = change.entry == nil ? try table.subscription(change.key) : change.entry
            if let facts = known?.facts, facts.newest >= mark.evidence { own = .init(command: command, mark: mark) }
        }
        let key = ByteText(change.key.text)
        doubts[key] = own.map { OwnWrites.Doubt(own: $0, partition: change.partition) }
        table.set(change.key, change.entry)
    }

    private func isInPlace(_ record: RecordView) -> Bool {
        guard let key = record.key, let count = partitions[record.topic] else { return false }
        return Murmur2.partition(of: key, count: count) == record.partition
    }

    private func takeDevice(_ record: RecordView) throws(StoreError) {
        guard let id = Self.text(record.key).flatMap({ DeviceID($0) }) else {
            foreign += 1
            return
        }
        guard let value = record.value else { return try table.set(id, nil) }
        guard let state = DeviceState(Array(value), &json), state.id == id else {
            foreign += 1
            return
        }
        newestRevision = max(newestRevision ?? state.revision, state.revision)
        try table.set(id, state)
    }

    private func takePerson(_ record: RecordView) {
        guard let id = Self.text(record.key).map({ ByteText($0) }) else {
            foreign += 1
            return
        }
        guard let value = record.value else { return table.set(id, nil) }
        guard let state = PersonState(Array(value), &json), state.id == id else {
            foreign += 1
            return
        }
        newestRevision = max(newestRevision ?? state.revision, state.revision)
        table.set(id, state)
    }

    private func takeErasure(_ record: RecordView) throws(StoreError) {
        guard let person = Self.text(record.key).flatMap({ PersonHash(hex: $0) }), let value = record.value,
            let erasure = Erasure(person, Array(value), &json)
        else {
            foreign += 1
            return
        }
        try table.set(erasure)
    }

    private static func text(_ bytes: UnsafeRawBufferPointer?) -> String? {
        bytes.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Everything below these offsets is in the table.
    func reached(_ offsets: [TopicPartition: Int64]) { positions.merge(offsets) { max($0, $1) } }

    /// Gives away its doubts.
    func takeDoubts() -> [ByteText: OwnWrites.Doubt] {
        defer { doubts.removeAll() }
        return doubts
    }

    /// Where each partition of the subscriptions is to be read from.
    ///
    /// - Parameter starts: of the partitions.
    func subscriptionPositions(from starts: [TopicPartition: Offset]) -> [TopicPartition: Offset] {
        lowered(positions.filter { $0.key.topic == topics.subscriptions }).reduce(into: [:]) { found, each in
            found[each.key] = max(Offset(each.value), starts[each.key] ?? Offset(0))
        }
    }

    /// Positions from which what is still needed is read again.
    private func lowered(_ positions: [TopicPartition: Int64]) -> [TopicPartition: Int64] {
        let needed = doubts.values.map { ($0.partition, $0.first) } + needed.map { ($0.key, $0.value) }
        let offsets = needed.map { (TopicPartition(topic: topics.subscriptions, partition: $0.0), $0.1) }
        return positions.merging(offsets, uniquingKeysWith: min)
    }

    /// How much of a partition of the subscriptions is in the table: the records below.
    func position(_ partition: Int32) -> Int64 {
        positions[TopicPartition(topic: topics.subscriptions, partition: partition)] ?? 0
    }

    /// How much of the partition of a key.
    func position(of key: SubscriptionKey) -> Int64 {
        position(Murmur2.partition(of: Array(key.text.utf8), count: Int32(partitions[topics.subscriptions] ?? 0)))
    }

    /// Whether there is something to store, or what is stored has been the same for long.
    var isFlushDue: Bool { table.pendingCount > 0 || time - storedTime > Self.storesAgain }

    /// Stores what was committed.
    func flush() throws(StoreError) {
        let flush = beginFlush()
        let result = Result { () throws(StoreError) in try flush.write() }
        try end(flush, result)
    }

    /// The same in steps: its owner may use it while the second one, ``RegistrarTable/Flush/write()``, runs elsewhere.
    func beginFlush() -> RegistrarTable.Flush {
        storingTime = time
        return table.beginFlush(
            RegistrarCheckpoint(cluster: cluster, time: time, positions: lowered(positions)).bytes)
    }

    func end(_ flush: RegistrarTable.Flush, _ result: Result<Void, StoreError>) throws(StoreError) {
        let isWritten = (try? result.get()) != nil
        try table.end(flush, isWritten: isWritten)
        try result.get()
        storedTime = storingTime
    }
}
