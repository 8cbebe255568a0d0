import Notifications
import StateStore

@testable import Broadcasts

/// A core with logs of its own: what was published, and the subscriptions of some partitions.
final class CoreTrial {
    /// 2025-07-07T08:02:17Z.
    static let start: WallTime = 1_751_875_337_000
    static let channel = "channel/a"

    struct Record {
        var key: [UInt8]
        /// Nil unsubscribes.
        var value: [UInt8]?
        var time: WallTime
        /// The value of its header.
        var since: [UInt8]?
    }

    /// What a transaction wrote and committed.
    struct Result {
        var offsets: [Int32: BroadcastOffset] = [:]
        var entry: BroadcastJournalEntry?
        var pushes: [RecordedPushes.Push] = []
        var letters: [[String: String]] = []
        /// The numbers of the devices that got a broadcast, as they were written.
        func devices(_ broadcast: Int64) -> [String] {
            pushes.filter { $0.broadcast == broadcast }.map(\.device)
        }
    }

    var core: BroadcastCore
    var broadcasts = TestBroadcasts()
    var logs: [Int32: [Record]] = [:]
    var stores: [Int32: any OrderedStore] = [:]
    var clock = CoreTrial.start
    var sink = RecordedPushes()
    /// How many records were asked for a header.
    var headersRead = 0

    init(
        mostLate: Int = 10, mostRecords: Int = 1_000, maxAge: Int64 = 86_400_000,
        rendering: RenderSettings = RenderSettings()
    ) {
        core = BroadcastCore(
            BroadcastSettings(
                topic: "broadcasts", subscriptionsTopic: "subscriptions", rendering: rendering,
                maxAge: maxAge, mostLate: mostLate, mostRecords: mostRecords))
    }

    // MARK: The logs

    @discardableResult
    func publish(_ id: String, to audience: String = CoreTrial.channel, lifetime: Int64 = 3_600_000) -> Int64 {
        broadcasts.append(id, .published(audience: audience, lifetime: lifetime), at: clock)
    }

    @discardableResult
    func publishUnreadable(_ id: String) -> Int64 { broadcasts.append(id, .unreadable, at: clock) }

    func cancel(_ id: String) { broadcasts.append(id, .cancelled, at: clock) }

    func join(
        _ devices: [TestDevice], _ audience: String = CoreTrial.channel, seen: WallTime? = CoreTrial.start,
        since: String? = nil, partition: Int32 = 1
    ) {
        for device in devices {
            logs[partition, default: []].append(
                Record(
                    key: device.key(in: audience), value: device.value(in: audience, seen: seen), time: clock,
                    since: since.map { Array($0.utf8) }))
        }
    }

    func leave(_ devices: [TestDevice], _ audience: String = CoreTrial.channel, partition: Int32 = 1) {
        for device in devices {
            logs[partition, default: []].append(Record(key: device.key(in: audience), value: nil, time: clock))
        }
    }

    // MARK: Partitions

    /// Owns a partition, whose table has everything below an offset; that of its log's end without one.
    func own(
        _ partition: Int32 = 1, at offset: Int64? = nil, broadcast: Int64 = 0, pass: BroadcastOffset.Pass? = nil,
        store: any OrderedStore = MemoryStore()
    ) throws {
        let end = offset ?? Int64(logs[partition, default: []].count)
        let table = try ChannelTable(
            store: store, origin: .init(topic: "subscriptions", partition: partition, cluster: nil),
            at: ChannelCheckpoint(offset: 0, time: clock))
        for offset in 0..<end { try apply(partition, offset) { _ = try table.apply($0, timestamp: clock) } }
        table.commit()
        try table.flush(at: end)
        stores[partition] = store
        core.assign(
            partition,
            committed: BroadcastOffset(offset: end, partitions: 4, time: clock, broadcast: broadcast, pass: pass),
            table: table)
    }

    func see() { core.update(broadcasts.records(below: broadcasts.end), reached: broadcasts.end) }

    private func apply(_ partition: Int32, _ offset: Int64, _ body: (SubscriptionRecord) throws -> Void) throws {
        let record = logs[partition, default: []][Int(offset)]
        try record.key.withUnsafeBytes { key in
            try (record.value ?? []).withUnsafeBytes { value in
                try body(
                    SubscriptionRecord(
                        partition: partition, offset: offset, key: key, value: record.value == nil ? nil : value))
            }
        }
    }

    // MARK: The core, which is not copied into expectations

    var hasRoom: Bool { core.hasRoom }
    var open: OpenBroadcasts { core.open }
    var owned: [Int32] { core.owned }
    func position(_ partition: Int32) -> Int64? { core.position(partition) }
    func ahead(_ partition: Int32) -> Int64? { core.ahead(partition) }
    func committed(_ partition: Int32) -> BroadcastOffset? { core.committed(partition) }
    func isBusy(_ partition: Int32) -> Bool { core.isBusy(partition) }
    func remove(_ partition: Int32) -> ChannelTable? { core.remove(partition) }

    func firstBroadcast(includesValid: Bool, clock: WallTime) -> Int64 {
        core.firstBroadcast(includesValid: includesValid, clock: clock)
    }

    /// The offsets to commit, and the journal's entry; the transaction stays open.
    func finish(oldest: WallTime) -> (offsets: [Int32: BroadcastOffset], entry: BroadcastJournalEntry)? {
        core.finish(
            clock: clock, oldest: oldest,
            origin: BroadcastJournalEntry(group: "g", cluster: nil, dispatch: "d", rules: "r"))
    }

    // MARK: Transactions

    func send(_ partition: Int32 = 1, budget: Int = 1_000) throws {
        var budget = budget
        try core.send(partition, clock: clock, budget: &budget, into: &sink)
    }

    /// Takes what a partition's log has, at most so many records.
    func take(_ partition: Int32 = 1, _ most: Int = .max) throws {
        var left = most
        while let position = core.position(partition), position < Int64(logs[partition, default: []].count), left > 0 {
            left -= 1
            try take(partition, at: position)
        }
    }

    /// Looks at what a partition's log has below an offset and was not taken.
    func look(_ partition: Int32 = 1, to end: Int64) throws {
        for offset in (core.ahead(partition) ?? end)..<end { try apply(partition, offset) { core.look(ahead: $0) } }
        core.looked(ahead: end, of: partition)
    }

    func take(_ partition: Int32, at offset: Int64) throws {
        let record = logs[partition, default: []][Int(offset)]
        try (record.since ?? []).withUnsafeBytes { since in
            try apply(partition, offset) {
                try core.take($0, timestamp: record.time, clock: clock) {
                    headersRead += 1
                    return record.since == nil ? nil : since
                }
            }
        }
    }

    /// Ends the open transaction.
    func commit() throws -> Result {
        try core.sendLate(into: &sink)
        let finished = finish(oldest: clock - 3_600_000)
        if finished != nil { core.committed() }
        defer { sink = RecordedPushes() }
        return Result(
            offsets: finished?.offsets ?? [:], entry: finished?.entry, pushes: sink.pushes, letters: sink.letters)
    }

    func abort() {
        core.aborted()
        sink = RecordedPushes()
    }

    /// A whole transaction of every partition: what the topic of broadcasts has now, a slice of each, what was written
    /// to the subscriptions.
    @discardableResult
    func transact(budget: Int = 1_000) throws -> Result {
        see()
        var budget = budget
        for partition in core.owned { try core.send(partition, clock: clock, budget: &budget, into: &sink) }
        for partition in core.owned { try take(partition) }
        return try commit()
    }
}
