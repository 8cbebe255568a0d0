import KafkaClient

/// How far the states of a worker's partitions are folded, by source.
struct Folds: ~Copyable {
    var orders: SourceFold
    var requests: SourceFold

    subscript(source: SourceKind) -> SourceFold {
        _read {
            switch source {
            case .orders: yield orders
            case .requests: yield requests
            }
        }
        _modify {
            switch source {
            case .orders: yield &orders
            case .requests: yield &requests
            }
        }
    }

    /// The offset up to which each partition is folded.
    var offsets: [SourcePartition: Int64] {
        var offsets: [SourcePartition: Int64] = [:]
        for source in SourceKind.allCases {
            for (partition, offset) in self[source].offsets { offsets[SourcePartition(source, partition)] = offset }
        }
        return offsets
    }
}

/// How far the states of one source's partitions are folded in memory, and their checkpoint on disk.
struct SourceFold: ~Copyable {
    /// By partition: the state holds every record below this offset, with nothing uncommitted. A partition that was revoked
    /// stays until the next assignment, which often brings it back.
    var offsets: [Int32: Int64] = [:]
    /// The partitions whose incomplete state has been reported, and what it lacks.
    var reported: [Int32: FoldBeginning] = [:]
    /// Nil where the state cannot be saved.
    var checkpoint: FoldCheckpoint?
    /// When the checkpoint is written next.
    private(set) var savesAt: ContinuousClock.Instant
    /// How long the slices of the current checkpoint have taken.
    private var saving = Duration.zero

    static let saveInterval = Duration.seconds(10)
    /// How many entries are written at once, and how long events wait for it: some 50 ms.
    static let saveSlice = 10_000
    /// At the end nothing waits; what a transaction of the store writes is in memory until it is committed.
    static let lastSlice = 100_000

    init(checkpoint: consuming FoldCheckpoint?, now: ContinuousClock.Instant = .now) {
        self.checkpoint = checkpoint
        savesAt = now
    }

    /// Forgets the partitions that another worker owns now.
    ///
    /// - Returns: these.
    mutating func forget(except kept: Set<Int32>) -> [Int32] {
        let gone = offsets.keys.filter { !kept.contains($0) }
        for partition in gone {
            offsets[partition] = nil
            reported[partition] = nil
        }
        return gone
    }

    /// The partitions whose state in memory cannot be used, and the offsets at which a usable one may be: neither before
    /// the log's first record nor after the committed offset.
    ///
    /// - Parameters:
    ///   - committed: where the partitions continue.
    ///   - first: the first offset that the log still has.
    func needed(
        _ committed: [Int32: Int64], first: [TopicPartition: Offset], of topic: String
    ) -> [TopicPartition: ClosedRange<Int64>] {
        var needed: [TopicPartition: ClosedRange<Int64>] = [:]
        for (partition, offset) in committed {
            let id = TopicPartition(topic: topic, partition: partition)
            let first = first[id]?.value ?? 0
            let usable = first...max(offset, first)
            if let fold = offsets[partition], usable.contains(fold) { continue }
            needed[id] = usable
        }
        return needed
    }

    /// The checkpoint, or a slice of it, has been written. The next checkpoint waits 10 s, or so much longer that saving
    /// takes no more than a fiftieth of the time; between slices events have as much time as a slice takes.
    mutating func saved(isWhole: Bool, began: ContinuousClock.Instant, now: ContinuousClock.Instant) {
        let taken = now - began
        saving += taken
        savesAt = now + (isWhole ? max(Self.saveInterval, saving * 50) : taken)
        if isWhole { saving = .zero }
    }
}
