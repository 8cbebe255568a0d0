import KafkaClient

/// A worker's part in what ADR 56 decides.
extension Worker {
    private var reader: Holding.Reader { .worker(slot.number) }

    /// How far the worker is in each partition that it reads.
    private var progress: [TopicPartition: Holding.Progress] {
        var progress: [TopicPartition: Holding.Progress] = [:]
        for partition in assignment.positions.owned {
            guard let position = assignment.positions[partition] else { continue }
            progress[context.configuration.topics.topicPartition(of: partition)] =
                position.isFolding
                ? Holding.Progress(offset: position.folded, reached: position.folded)
                : Holding.Progress(offset: position.next, reached: position.reached)
        }
        return progress
    }

    /// Notes that the process has taken more memory while this worker only waited, before it waits again.
    mutating func noteGrowth() {
        #if DEBUG
            if let place = FaultBomb.place, progress[place.partition]?.offset == place.offset {
                context.holds.grew(reader, progress.mapValues(\.offset))
                FaultBomb.explode()
            }
        #endif
        if growth.isEvident {
            context.holds.grew(reader, progress.mapValues(\.offset))
        } else if hasNotedGrowth {
            context.holds.arrived(reader)
        }
        hasNotedGrowth = growth.isEvident
    }

    /// Begins again with other partitions, where those that may be read have changed.
    mutating func considerHolds() throws {
        guard context.holds.isActive || isCareful, transaction.isIdle, assignment.search == nil,
            !assignment.groupPartitions.isEmpty
        else { return }
        let isReading = assignment.canWork(isTableReady: context.gate.isOpen(assignment.barrier))
        let mustBegin = context.holds.reached(reader, progress, bytes: readSinceHolds, isReading: isReading)
        readSinceHolds = 0
        let mustReplace = isCareful && context.holds.current == nil
        guard mustBegin || mustReplace else { return }
        saveOrders(isLast: true)
        if mustReplace { return try replaceConsumer(after: .carefulConsumer) }
        noteFolds()
        ticks.removeAll()
        intake.removeAll()
        try consumer.unassign()
        assignment.mustBegin(now: .now)
        showPhase()
    }

    /// Leaves out the partitions that may not be read now. Where the worker only goes back, it reads all of its partitions.
    ///
    /// - Returns: those that are located.
    mutating func narrow(_ search: WorkerAssignment.Search) -> [SourcePartition] {
        guard !search.isRewind else { return search.partitions }
        let topics = context.configuration.topics
        let readable = context.holds.enter(reader, assignment.groupPartitions.map(topics.topicPartition))
        let partitions = search.partitions.filter { readable.contains(topics.topicPartition(of: $0)) }
        assignment.narrow(to: partitions)
        return partitions
    }

    /// Whether these partitions, and no others, may be read from here.
    mutating func mayRead(_ offsets: [TopicPartition: Offset], _ log: LogBounds) -> Bool {
        context.holds.take(reader, offsets.mapValues(\.value), ends: log.end.mapValues(\.value), logger)
    }

    /// All of the partitions are held, or wait for the turn of another one.
    mutating func readNothing() throws {
        _ = try assignment.located([:], folds: [:], partitionCounts: [:])
        _ = context.holds.take(reader, [:], ends: [:], logger)
        try consumer.assign([:])
        _ = try assignment.started(now: .now)
        showPhase()
    }

    /// The partitions are another worker's.
    func forgetHolds() { context.holds.leave(reader) }
}

extension KafkaError {
    /// It fetches batch by batch, which is slow, and no partition has a turn any more.
    fileprivate static var carefulConsumer: KafkaError {
        KafkaError(
            kind: .other, recovery: .recreateClient, of: .member, name: "",
            message: "partitions were read one after another", operation: "consume")
    }
}
