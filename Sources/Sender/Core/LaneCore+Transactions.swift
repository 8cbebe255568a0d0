import Notifications

extension LaneCore {
    /// What the next transaction writes and commits; nil if there is nothing to do, or one is open.
    ///
    /// To be ended by ``committed()`` or ``aborted()``.
    package mutating func takeTransaction(now: WallTime) -> LaneTransaction? {
        guard writing == nil else { return nil }
        var transaction = outbox
        let streams = settings.streams
        for (partition, state) in partitions.sorted(by: { $0.key < $1.key }) {
            let isLast: Bool
            switch state.phase {
            case .recalling: continue
            case .opening, .active, .revoking: isLast = false
            case .closing: isLast = true
            }
            for (index, stream) in streams.enumerated() {
                var offset = state.streams[index].commit(
                    partitions: settings.partitions,
                    sentBelow: state.bounds[index].committed)
                guard
                    offset != state.committed[index] || state.bounds[index].isShort || isForced(state.phase)
                        || mustCommit
                else { continue }
                switch state.phase {
                // Only what this owner has found is in doubt: it has ended what it has sent.
                case .closing(isClean: true): offset.sentBelow = max(offset.offset, state.bounds[index].doubtedBelow)
                case .closing(isClean: false): break
                case .recalling, .opening, .active, .revoking:
                    offset.sentBelow = state.bounds[index].advance(from: offset.offset)
                }
                transaction.commits.append(
                    .init(stream: stream, partition: partition, offset: offset, isLast: isLast))
            }
        }
        guard !transaction.isEmpty else {
            // Without a partition there is nothing that another could have taken.
            if mustCommit, partitions.isEmpty { mustCommit = false }
            return nil
        }
        for state in partitions.values { state.takeOutcomes() }
        writing = transaction
        outbox = LaneTransaction()
        mayClearMustCommit = mustCommit
        needsBound = false
        return transaction
    }

    private func isForced(_ phase: LanePartition.Phase) -> Bool {
        switch phase {
        case .opening, .closing: true
        case .recalling, .active, .revoking: false
        }
    }

    /// The open transaction has committed.
    package mutating func committed() {
        guard let transaction = writing else { return }
        writing = nil
        for state in partitions.values { for kind in state.sends.indices { state.sends[kind].commit() } }
        if mayClearMustCommit { mustCommit = false }
        for commit in transaction.commits {
            partitions[commit.partition]?.committed[topicIndex(commit.stream)] = commit.offset
            partitions[commit.partition]?.bounds[topicIndex(commit.stream)].commit(commit.offset.sentBelow)
        }
        for partition in Set(transaction.commits.map(\.partition)) {
            switch partitions[partition]?.phase {
            case .opening: partitions[partition]?.phase = .active
            case .closing:
                // Its phase may have changed after the transaction was taken.
                let isLast = transaction.commits.contains { $0.partition == partition && $0.isLast }
                if isLast, outbox.hasNothing(of: partition) { forget(partition) }
            case .recalling, .active, .revoking, nil: break
            }
        }
    }

    /// The open transaction was aborted: the next one writes the same, and what came since.
    package mutating func aborted() {
        guard let transaction = writing else { return }
        writing = nil
        outbox.outcomes.insert(contentsOf: transaction.outcomes, at: 0)
        outbox.retries.insert(contentsOf: transaction.retries, at: 0)
        for state in partitions.values { for kind in state.sends.indices { state.sends[kind].abort() } }
    }
}

extension LaneTransaction {
    var isEmpty: Bool { outcomes.isEmpty && retries.isEmpty && commits.isEmpty }

    func hasNothing(of partition: Int32) -> Bool {
        !outcomes.contains { $0.partition == partition } && !retries.contains { $0.record.partition == partition }
    }

    mutating func drop(_ partition: Int32) {
        outcomes.removeAll { $0.partition == partition }
        retries.removeAll { $0.record.partition == partition }
        commits.removeAll { $0.partition == partition }
    }
}
