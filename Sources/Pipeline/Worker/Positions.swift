/// Where a worker stands in each partition that it owns: what it has processed and what it has committed.
///
/// Offsets are counted here and not asked of the client, whose own position runs ahead of what it has handed over
/// (a commit of it would lose records). The next offset is the last processed one + 1.
package struct Positions {
    package struct Partition: Equatable {
        /// What the group's committed offset says: the next transaction's range begins here.
        package var committed: Int64
        /// The offset of the next record to process.
        package var next: Int64
        /// Nothing below it is left to read: ``next``, or the end of the partition behind control records.
        package var reached: Int64
        package var watermark: Int64
        package var newestTimestamp: Int64
        fileprivate var committedTimestamp: Int64
    }

    /// The partition count of the topic, which every commit carries.
    package private(set) var partitionCount: Int32 = 0
    /// By partition number; nil where another worker owns it.
    private var partitions: [Partition?] = []
    /// The owned partitions, ascending.
    package private(set) var owned: [Int32] = []

    package init() {}

    package var isEmpty: Bool { owned.isEmpty }

    package subscript(partition: Int32) -> Partition? {
        Int(partition) < partitions.count ? partitions[Int(partition)] : nil
    }

    /// Takes over an assignment: everything before it is forgotten.
    package mutating func assign(_ committed: [Int32: (offset: Int64, metadata: OffsetMetadata)], partitionCount: Int32)
    {
        self.partitionCount = partitionCount
        owned = committed.keys.sorted()
        partitions = Array(repeating: nil, count: max(Int(partitionCount), Int(owned.last ?? -1) + 1))
        for (partition, start) in committed {
            partitions[Int(partition)] = Partition(
                committed: start.offset, next: start.offset, reached: start.offset, watermark: start.metadata.watermark,
                newestTimestamp: start.metadata.newestTimestamp, committedTimestamp: start.metadata.newestTimestamp)
        }
    }

    package mutating func revokeAll() {
        owned.removeAll()
        partitions.removeAll()
    }

    /// Whether a record is one to process: its partition is owned, and it has not been processed yet.
    package func accepts(partition: Int32, offset: Int64) -> Bool {
        guard Int(partition) < partitions.count, let state = partitions[Int(partition)] else { return false }
        return offset >= state.next
    }

    /// The end of the partition was seen.
    package mutating func reach(partition: Int32, offset: Int64) {
        guard Int(partition) < partitions.count, let state = partitions[Int(partition)] else { return }
        partitions[Int(partition)]?.reached = max(state.reached, offset)
    }

    /// Counts a record as processed.
    package mutating func advance(partition: Int32, offset: Int64, timestamp: Int64) {
        partitions[Int(partition)]!.next = offset + 1
        partitions[Int(partition)]!.reached = max(partitions[Int(partition)]!.reached, offset + 1)
        if timestamp > partitions[Int(partition)]!.newestTimestamp {
            partitions[Int(partition)]!.newestTimestamp = timestamp
        }
    }

    /// Calls `body` for each partition that has moved since its last commit, ascending.
    package func forEachUncommitted(_ body: (Int32, Partition) throws -> Void) rethrows {
        for partition in owned {
            if let state = partitions[Int(partition)], state.next != state.committed { try body(partition, state) }
        }
    }

    package func metadata(of partition: Partition) -> OffsetMetadata {
        OffsetMetadata(
            watermark: partition.watermark, partitions: partitionCount, newestTimestamp: partition.newestTimestamp)
    }

    /// The transaction has been committed.
    package mutating func commit() {
        for partition in owned {
            partitions[Int(partition)]!.committed = partitions[Int(partition)]!.next
            partitions[Int(partition)]!.committedTimestamp = partitions[Int(partition)]!.newestTimestamp
        }
    }

    /// The transaction has been aborted: back to what is committed.
    package mutating func rollBack() {
        for partition in owned {
            partitions[Int(partition)]!.next = partitions[Int(partition)]!.committed
            partitions[Int(partition)]!.reached = partitions[Int(partition)]!.committed
            partitions[Int(partition)]!.newestTimestamp = partitions[Int(partition)]!.committedTimestamp
        }
    }
}
