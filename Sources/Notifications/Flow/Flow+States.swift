/// What the flow has folded of the partitions of each source.
extension Flow {
    /// Begins an assigned partition with an empty state.
    ///
    /// - Parameters:
    ///   - newest: the newest timestamp of its records so far.
    ///   - beginning: what is missing from the fold that follows. Of requests nothing counts as missing: they stand alone
    ///     where the log no longer has 24 h.
    package mutating func assign(
        _ partition: SourcePartition, watermark: TimerWatermark, newest: WallTime, beginning: FoldBeginning = .complete
    ) {
        switch partition.source {
        case .orders: orders.assign(partition.number, watermark: watermark, newest: newest, beginning: beginning)
        case .requests: requests.states.assign(partition.number, newest: newest)
        }
    }

    /// See ``OrderStates/beginFold(of:latest:)``.
    package mutating func beginFold(of partition: SourcePartition, latest: WallTime) {
        switch partition.source {
        case .orders: orders.states.beginFold(of: partition.number, latest: latest)
        case .requests: requests.states[partition.number]?.foldLimit = latest
        }
    }

    /// Continues at the committed offset, up to which the partition has been folded, with what was committed there.
    ///
    /// - Returns: the newest timestamp of the partition's records; at least `newest`.
    @discardableResult
    package mutating func resume(
        _ partition: SourcePartition, watermark: TimerWatermark, newest: WallTime = .epoch
    ) -> WallTime {
        switch partition.source {
        case .orders: return orders.resume(partition.number, watermark: watermark, newest: newest)
        case .requests:
            guard let requests = requests.states[partition.number] else { return newest }
            requests.resume(newest: newest)
            return requests.newest
        }
    }

    /// Forgets a partition that another worker owns now.
    package mutating func revoke(_ partition: SourcePartition) {
        switch partition.source {
        case .orders: orders.revoke(partition.number)
        case .requests: requests.states.revoke(partition.number)
        }
    }

    /// See ``OrderSource/beginning(of:newest:)``.
    package func beginning(of partition: SourcePartition, newest: WallTime) -> FoldBeginning {
        switch partition.source {
        case .orders: orders.beginning(of: partition.number, newest: newest)
        case .requests: .complete
        }
    }

    /// The newest timestamp of a record of this partition; 1970 without one.
    package func newest(in partition: SourcePartition) -> WallTime {
        switch partition.source {
        case .orders: orders.newest(in: partition.number)
        case .requests: requests.states[partition.number]?.newest ?? .epoch
        }
    }

    /// No transaction is open: the states are those of the committed offsets.
    package var isCommitted: Bool { orders.states.isCommitted && requests.states.isCommitted }

    // MARK: Checkpoints

    /// Starts tracking what a checkpoint has to write, and a partition's last records.
    ///
    /// - Parameter recent: the records before these, as a checkpoint has them.
    package mutating func trackChanges(
        of partition: SourcePartition, recent: RecentFingerprints = RecentFingerprints()
    ) {
        switch partition.source {
        case .orders: orders.states.trackChanges(of: partition.number, recent: recent)
        case .requests: requests.states[partition.number]?.trackChanges(recent: recent)
        }
    }

    /// Stops it for good.
    package mutating func stopTracking(_ partition: SourcePartition) {
        switch partition.source {
        case .orders: orders.states.stopTracking(partition.number)
        case .requests: requests.states[partition.number]?.stopTracking()
        }
    }

    /// The fingerprints of the last records of a partition below an offset, at most sixteen.
    package func recentRecords(of partition: SourcePartition, below offset: Int64) -> RecentFingerprints {
        switch partition.source {
        case .orders: orders.states.recentRecords(of: partition.number, below: offset)
        case .requests:
            requests.states[partition.number]?.recent?.fingerprints(below: offset) ?? RecentFingerprints()
        }
    }
}
