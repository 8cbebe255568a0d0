/// A worker's positions in the partitions that it owns, by source.
package struct Positions {
    package var orders = TopicPositions()
    package var requests = TopicPositions()

    package init() {}

    package subscript(source: SourceKind) -> TopicPositions {
        get {
            switch source {
            case .orders: orders
            case .requests: requests
            }
        }
        _modify {
            switch source {
            case .orders: yield &orders
            case .requests: yield &requests
            }
        }
    }

    package subscript(partition: SourcePartition) -> Position? { self[partition.source][partition.number] }

    package var isEmpty: Bool { SourceKind.allCases.allSatisfy { self[$0].isEmpty } }

    /// The owned partitions, ascending.
    package var owned: [SourcePartition] {
        SourceKind.allCases.flatMap { source in self[source].owned.map { SourcePartition(source, $0) } }
    }

    /// Takes an assignment, and forgets the previous one.
    ///
    /// - Parameters:
    ///   - folds: the offset up to which the state of each partition is folded; without one, the committed offset.
    ///   - partitionCounts: of each source's topic.
    package mutating func assign(
        _ committed: [SourcePartition: CommittedPosition], folds: [SourcePartition: Int64] = [:],
        partitionCounts: [SourceKind: Int32]
    ) {
        for source in SourceKind.allCases {
            let ours = committed.filter { $0.key.source == source }.map { ($0.key.number, $0.value) }
            let folds = folds.filter { $0.key.source == source }.map { ($0.key.number, $0.value) }
            self[source].assign(
                Dictionary(uniqueKeysWithValues: ours), folds: Dictionary(uniqueKeysWithValues: folds),
                partitionCount: partitionCounts[source] ?? 0)
        }
    }

    package mutating func revokeAll() {
        for source in SourceKind.allCases { self[source].revokeAll() }
    }

    /// How many offsets are still to be folded, and of how many partitions.
    var leftToFold: (offsets: Int64, partitions: Int) {
        (orders.leftToFold + requests.leftToFold, orders.foldingCount + requests.foldingCount)
    }

    /// No transaction is open: no abort can roll back what is folded.
    mutating func commitFolds() {
        for source in SourceKind.allCases { self[source].commitFolds() }
    }

    /// The transaction has been committed.
    package mutating func commit() {
        for source in SourceKind.allCases { self[source].commit() }
    }

    /// The transaction has been aborted: goes back to what is committed.
    package mutating func rollBack() {
        for source in SourceKind.allCases { self[source].rollBack() }
    }

    /// Calls `body` for each partition that has moved since its last commit, or whose watermark has, ascending; with
    /// the metadata that its next commit carries.
    package func forEachUncommitted(_ body: (SourcePartition, Position, OffsetMetadata) throws -> Void) rethrows {
        for source in SourceKind.allCases {
            let positions = self[source]
            try positions.forEachUncommitted { partition, position in
                try body(SourcePartition(source, partition), position, positions.metadata(of: position))
            }
        }
    }
}

/// Where a group continues in a partition.
package struct CommittedPosition: Equatable, Sendable {
    package var offset: Int64
    package var metadata: OffsetMetadata

    package init(offset: Int64, metadata: OffsetMetadata) {
        self.offset = offset
        self.metadata = metadata
    }
}
