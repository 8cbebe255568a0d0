import Deliveries

extension DeliveryCore {
    /// What the next transaction writes and commits; nil if there is nothing to do, or one is open.
    ///
    /// To be ended by ``committed()``, ``aborted()`` or, if its end is unknown, ``resolve(_:)``.
    package mutating func takeTransaction(now: WallTime) -> LaneTransaction? {
        guard writing == nil else { return nil }
        var transaction = outbox
        let streams = settings.streams
        for (partition, state) in partitions.sorted(by: { $0.key < $1.key }) {
            let isClean: Bool
            switch state.phase {
            case .recalling: continue
            case .opening, .active, .revoking: isClean = false
            case .closing(let clean): isClean = clean
            }
            for (index, stream) in streams.enumerated() {
                let offset = state.streams[index].commit(
                    partitions: settings.partitions, isClean: isClean)
                guard offset != state.committed[index] || isForced(state.phase) || mustCommit else { continue }
                transaction.commits.append(.init(stream: stream, partition: partition, offset: offset))
            }
        }
        guard !transaction.isEmpty else {
            // Without a partition there is nothing that another could have taken.
            if mustCommit, partitions.isEmpty { mustCommit = false }
            return nil
        }
        writing = transaction
        outbox = LaneTransaction()
        mayClearMustCommit = mustCommit
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
        if mayClearMustCommit { mustCommit = false }
        for commit in transaction.commits {
            partitions[commit.partition]?.committed[place(commit.stream)] = commit.offset
        }
        for partition in Set(transaction.commits.map(\.partition)) {
            switch partitions[partition]?.phase {
            case .opening: partitions[partition]?.phase = .active
            case .closing(let isClean):
                // Its phase may have changed after the transaction was taken.
                let last = transaction.commits.last { $0.partition == partition }
                if last?.offset.isClean == isClean, outbox.hasNothing(of: partition) { forget(partition) }
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
    }

    /// What the group has committed, after a transaction with an unknown end.
    package mutating func resolve(_ found: (LaneStream, Int32) -> LaneOffset?) {
        guard let transaction = writing else { return }
        let tellers = transaction.commits.filter { commit in
            commit.offset != partitions[commit.partition]?.committed[place(commit.stream)]
        }
        // Without a change it does not matter: such a transaction writes nothing.
        if let teller = tellers.first, found(teller.stream, teller.partition) == teller.offset {
            committed()
        } else {
            aborted()
        }
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
