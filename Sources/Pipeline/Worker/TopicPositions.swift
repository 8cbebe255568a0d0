/// What a worker has processed of a partition, and what it has committed.
///
/// Offsets are counted here, not taken from the client, whose own position is ahead of what it has handed over
/// (committing that would lose records). The next offset is the last processed one + 1.
package struct Position: Equatable {
    /// What the group's committed offset says: the next transaction's range begins here.
    package var committed: Int64
    /// The offset of the next record to process.
    package var next: Int64
    /// Nothing below it is left to read: ``next``, or the end of the partition after control records.
    package var reached: Int64
    /// The state of the partition holds everything below this: ``next``, or less while it is refolded.
    package var folded: Int64
    /// The timer watermark, and the one that the group's committed offset carries.
    package var watermark: TimerWatermark
    package var committedWatermark: TimerWatermark
    /// T of the tick that moved the watermark since the last commit.
    package var tickTime: WallTime?
    /// The first record that was processed since the last commit, and the time that it counts as.
    package var first: RecordFingerprint?
    fileprivate var firstTime: WallTime?
    package var newestTimestamp: WallTime
    fileprivate var committedTimestamp: WallTime
    fileprivate var committedFold: Int64

    fileprivate init(_ start: CommittedPosition, fold: Int64) {
        committed = start.offset
        next = start.offset
        reached = start.offset
        folded = fold
        watermark = start.metadata.watermark
        committedWatermark = start.metadata.watermark
        newestTimestamp = start.metadata.newestTimestamp
        committedTimestamp = start.metadata.newestTimestamp
        committedFold = fold
    }

    /// The newest timestamp up to the first record since the last commit; the committed one if there is no such record.
    package var newestAtFirst: WallTime { max(committedTimestamp, firstTime ?? .epoch) }

    /// The state is not yet that of the committed offset.
    package var isFolding: Bool { folded < committed }

    /// It has moved since its last commit, or its watermark has.
    package var isUncommitted: Bool { next != committed || watermark != committedWatermark }

    fileprivate mutating func advance(to offset: Int64, timestamp: WallTime) {
        next = offset
        folded = offset
        reached = max(reached, offset)
        newestTimestamp = max(newestTimestamp, timestamp)
    }

    fileprivate mutating func commit() {
        committed = next
        committedWatermark = watermark
        committedTimestamp = newestTimestamp
        committedFold = folded
        forgetTransaction()
    }

    fileprivate mutating func rollBack() {
        next = committed
        reached = committed
        folded = committedFold
        watermark = committedWatermark
        newestTimestamp = committedTimestamp
        forgetTransaction()
    }

    private mutating func forgetTransaction() {
        tickTime = nil
        first = nil
        firstTime = nil
    }
}

/// A worker's positions in the partitions that it owns of one source's topic.
package struct TopicPositions {
    /// The partition count of the topic, which every commit carries.
    package private(set) var partitionCount: Int32 = 0
    /// By partition number; nil where another worker owns it.
    private var partitions: [Position?] = []
    /// The owned partitions, ascending.
    package private(set) var owned: [Int32] = []
    /// How many of them are being refolded.
    package private(set) var foldingCount = 0

    package var isEmpty: Bool { owned.isEmpty }

    package subscript(partition: Int32) -> Position? {
        Int(partition) < partitions.count ? partitions[Int(partition)] : nil
    }

    /// Takes an assignment, and forgets the previous one.
    ///
    /// - Parameter folds: the offset up to which the state of each is folded; without one, the committed offset.
    package mutating func assign(
        _ committed: [Int32: CommittedPosition], folds: [Int32: Int64] = [:], partitionCount: Int32
    ) {
        self.partitionCount = partitionCount
        owned = committed.keys.sorted()
        partitions = Array(repeating: nil, count: max(Int(partitionCount), Int(owned.last ?? -1) + 1))
        for (partition, start) in committed {
            partitions[Int(partition)] = Position(start, fold: min(folds[partition] ?? start.offset, start.offset))
        }
        foldingCount = owned.count { self[$0]?.isFolding == true }
    }

    package mutating func revokeAll() {
        owned.removeAll()
        partitions.removeAll()
        foldingCount = 0
    }

    /// Whether a record is to be processed: its partition is owned, and it has not been processed yet.
    package func accepts(partition: Int32, offset: Int64) -> Bool {
        guard Int(partition) < partitions.count, let state = partitions[Int(partition)] else { return false }
        return offset >= state.next
    }

    /// The end of the partition was seen.
    package mutating func reach(partition: Int32, offset: Int64) {
        guard Int(partition) < partitions.count, let state = partitions[Int(partition)] else { return }
        partitions[Int(partition)]?.reached = max(state.reached, offset)
    }

    /// Counts a record as processed. The first one of a transaction is remembered for its entry in the journal.
    ///
    /// - Parameter latest: the latest time that it may count as (``RecordTime``).
    package mutating func advance(over record: EventRecord, latest: WallTime) {
        let index = Int(record.partition)
        let time = record.timestamp.map { min($0, latest) }
        if partitions[index]?.first == nil {
            partitions[index]?.firstTime = time
            partitions[index]?.first = RecordFingerprint(
                offset: record.offset, timestamp: record.timestamp, key: record.key)
        }
        partitions[index]?.advance(to: record.offset + 1, timestamp: time ?? .epoch)
    }

    /// The timers of a partition have fired up to a watermark, in a tick at T.
    package mutating func fire(partition: Int32, upTo watermark: TimerWatermark, tick time: WallTime) {
        partitions[Int(partition)]?.watermark = watermark
        partitions[Int(partition)]?.tickTime = time
    }

    /// With `schedule=off`: timers due up to now are not this pipeline's to send. Moves the watermark of each partition
    /// whose offset has moved since its last commit.
    package mutating func passTimers(until time: WallTime) {
        for partition in owned {
            guard let state = partitions[Int(partition)], state.next != state.committed,
                state.watermark < TimerWatermark(time)
            else { continue }
            fire(partition: partition, upTo: TimerWatermark(time), tick: time)
        }
    }

    /// Calls `body` for each partition that has moved since its last commit, or whose watermark has, ascending.
    package func forEachUncommitted(_ body: (Int32, Position) throws -> Void) rethrows {
        for partition in owned {
            if let position = partitions[Int(partition)], position.isUncommitted { try body(partition, position) }
        }
    }

    package func metadata(of position: Position) -> OffsetMetadata {
        OffsetMetadata(
            watermark: position.watermark, partitions: partitionCount, newestTimestamp: position.newestTimestamp)
    }

    /// The transaction has been committed.
    package mutating func commit() {
        for partition in owned { partitions[Int(partition)]!.commit() }
    }

    /// The transaction has been aborted: goes back to what is committed.
    package mutating func rollBack() {
        for partition in owned { partitions[Int(partition)]!.rollBack() }
        foldingCount = owned.count { self[$0]?.isFolding == true }
    }
}

// MARK: The state, which may lag

extension TopicPositions {
    /// Whether a record is only to be folded into the state: its output is committed already.
    package func isToFold(partition: Int32, offset: Int64) -> Bool {
        guard foldingCount > 0, let state = self[partition] else { return false }
        return offset >= state.folded && offset < state.committed
    }

    /// The state holds everything below this offset; the committed offset is its end.
    ///
    /// - Returns: whether that completed it.
    package mutating func fold(partition: Int32, upTo offset: Int64) -> Bool {
        guard let state = self[partition], state.isFolding else { return false }
        partitions[Int(partition)]!.folded = min(max(state.folded, offset), state.committed)
        guard offset >= state.committed else { return false }
        foldingCount -= 1
        return true
    }

    /// No transaction is open: no abort can roll back what is folded.
    package mutating func commitFolds() {
        for partition in owned { partitions[Int(partition)]!.committedFold = partitions[Int(partition)]!.folded }
    }

    /// The offset up to which the state of each owned partition is folded, whatever is aborted.
    package var committedFolds: [Int32: Int64] {
        Dictionary(uniqueKeysWithValues: owned.map { ($0, partitions[Int($0)]!.committedFold) })
    }

    /// How many offsets are still to be folded.
    package var leftToFold: Int64 {
        guard foldingCount > 0 else { return 0 }
        return owned.reduce(0) { $0 + max(0, partitions[Int($1)]!.committed - partitions[Int($1)]!.folded) }
    }

    /// The log has a newer record than the committed offset's metadata says.
    package mutating func raiseNewest(partition: Int32, to timestamp: WallTime) {
        guard let state = self[partition] else { return }
        partitions[Int(partition)]!.newestTimestamp = max(state.newestTimestamp, timestamp)
        partitions[Int(partition)]!.committedTimestamp = max(state.committedTimestamp, timestamp)
    }
}
