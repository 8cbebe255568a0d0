import Pipeline

/// Broadcasts and subscriptions in, one push per device out: the decisions of a worker, without Kafka, a clock or threads.
///
///     update ─► send (a slice of each pass) ─► take (records, joiners) ─► sendLate ─► finish ─► committed
///
/// In a transaction passes come first, since they go over the devices as the group has committed them; then what was read
/// of the subscriptions, whose joiners get what was broadcast before (docs/broadcasts.md). One owner.
package struct BroadcastCore: ~Copyable {
    package private(set) var settings: BroadcastSettings
    var catalogue: BroadcastCatalogue
    var renderer: BroadcastRenderer
    var partitions: [Int32: BroadcastPartition] = [:]
    /// Whether the group has seen broadcasts that are not known here yet.
    package private(set) var isBehind = false
    var deadLetters = DeadLetterHeaders()
    /// What the open transaction has done.
    package internal(set) var open = OpenBroadcasts()
    /// Devices that joined in the open transaction, by the offset of what they get.
    var late: [Int64: [Joiner]] = [:]

    struct Joiner {
        var partition: Int32
        /// Of the record by which it joined.
        var offset: Int64
        var key: ChannelKey
        var value: [UInt8]
    }

    package init(_ settings: BroadcastSettings) {
        self.settings = settings
        catalogue = BroadcastCatalogue(topic: settings.topic, settings: settings.rendering)
        renderer = BroadcastRenderer(settings: settings.rendering)
    }

    /// Takes what the topic of broadcasts has now. Not while a transaction is open.
    ///
    /// - Parameter records: the newest of each key, without tombstones, in the order of their offsets.
    package mutating func update(_ records: [BroadcastRecord], reached: Int64) {
        catalogue.update(records, reached: reached)
        compare()
    }

    /// The broadcasts that are known.
    package var count: Int { catalogue.broadcasts.count }

    /// Everything below this offset of `topic.broadcasts` is known.
    package var reached: Int64 { catalogue.reached }

    // MARK: Partitions

    package var owned: [Int32] { partitions.keys.sorted() }

    /// - Parameter table: the fold of what is below the committed offset, all of it stored: a pass that is under way goes
    ///   over what is stored.
    mutating func assign(_ number: Int32, committed: BroadcastOffset, table: ChannelTable) {
        partitions[number] = BroadcastPartition(number, committed: committed, table: table)
        compare()
    }

    /// The partition is another process's.
    mutating func remove(_ number: Int32) -> ChannelTable? {
        defer { compare() }
        return partitions.removeValue(forKey: number)?.table
    }

    /// Whether the broadcasts are known as far as the group is with a partition: the process before may have seen newer
    /// ones.
    func isKnown(_ partition: BroadcastPartition) -> Bool { catalogue.reached >= partition.lateBelow }

    private mutating func compare() { isBehind = !partitions.values.allSatisfy { isKnown($0) } }

    /// The next offset to read.
    package func position(_ number: Int32) -> Int64? { partitions[number]?.next.offset }

    /// What the group has.
    package func committed(_ number: Int32) -> BroadcastOffset? { partitions[number]?.committed }

    /// Whether a pass is under way, or there is something that has had none.
    package func isBusy(_ number: Int32) -> Bool {
        guard let partition = partitions[number] else { return false }
        return partition.committed.pass != nil || partition.committed.broadcast < catalogue.reached
    }

    /// When the oldest broadcast was published that is not done in every partition; nil: all are.
    package var oldestWaiting: WallTime? {
        var oldest: WallTime?
        for partition in partitions.values where isBusy(partition.number) {
            guard let time = catalogue.first(from: partition.committed.broadcast)?.record.timestamp else { continue }
            oldest = min(oldest ?? time, time)
        }
        return oldest
    }

    /// Where broadcasts begin for a partition that has none.
    package func firstBroadcast(includesValid: Bool, clock: WallTime) -> Int64 {
        includesValid ? catalogue.oldestValid(clock: clock) : catalogue.reached
    }

    // MARK: Transactions

    /// The offsets to commit, and the journal's entry without its origin; nil if there is nothing to commit.
    ///
    /// - Parameter oldest: offsets that were committed before this time are committed again.
    package mutating func finish(
        clock: WallTime, oldest: WallTime, origin: BroadcastJournalEntry
    ) -> (offsets: [Int32: BroadcastOffset], entry: BroadcastJournalEntry)? {
        var entry = origin
        var offsets: [Int32: BroadcastOffset] = [:]
        for (number, partition) in partitions {
            guard partition.next != partition.committed || partition.committed.time < oldest else { continue }
            partition.next.time = clock
            offsets[number] = partition.next
            entry.ranges.append(
                .init(
                    topic: settings.subscriptionsTopic, partition: number, from: partition.committed.offset,
                    to: partition.next.offset,
                    ahead: partition.ahead > partition.next.offset ? partition.ahead : nil))
        }
        guard !offsets.isEmpty else { return nil }
        entry.ranges.sort { $0.partition < $1.partition }
        entry.broadcasts = catalogue.reached
        entry.clock = clock
        entry.passes = open.passes
        entry.late = open.late
        entry.skipped = open.skipped
        return (offsets, entry)
    }

    /// The group has what ``finish(clock:oldest:origin:)`` gave.
    package mutating func committed() {
        for partition in partitions.values { partition.commit() }
        reset()
    }

    /// Nothing of the open transaction counts.
    package mutating func aborted() {
        for partition in partitions.values { partition.abort() }
        reset()
    }

    private mutating func reset() {
        open = OpenBroadcasts()
        late.removeAll(keepingCapacity: true)
    }
}

/// What a transaction has done so far.
package struct OpenBroadcasts: Sendable {
    package var passes: [BroadcastJournalEntry.Slice] = []
    package var late: [BroadcastJournalEntry.Late] = []
    package var skipped: [BroadcastJournalEntry.Skipped] = []
    /// Dispatch records that were written, and those that joiners are to get.
    package var sent = 0
    package var planned = 0
    /// Records of the subscriptions that were taken.
    package var taken = 0
    package var malformed = 0
    /// The first broadcast of these that is a dead letter, and how many are.
    package var firstDeadLetter: DeadLetterPosition?
    package var deadLetters = 0
    /// Whether a partition has passed what needs no pass.
    package var hasMoved = false

    /// Whether there is something to commit besides what was read.
    package var hasWork: Bool { hasMoved || !passes.isEmpty || !late.isEmpty || !skipped.isEmpty || planned > 0 }
}
