import KafkaClient

extension LaneWorker {
    /// Hands the partitions over whose records below the cut are all finished.
    ///
    /// - Returns: whether nothing is left to send for this lane.
    mutating func considerCut() throws -> Bool {
        guard !roles.isEmpty, roles.values.contains(where: { $0.isOld }), .now >= nextLook else { return false }
        nextLook = .now + .seconds(1)
        for partition in core.owned {
            guard case .old(let end, let next) = roles[partition], try isDone(partition, below: end) else { continue }
            core.handOver(partition, to: next)
            roles[partition] = .ended
            logger.info("partition \(partition) is finished below the cut")
        }
        guard core.owned.isEmpty, roles.values.allSatisfy({ $0 == .ended }) else { return false }
        logger.notice("all that is below the cut is finished; this lane ends")
        try consumer.unassign()
        return true
    }

    /// Whether a partition's records below the cut have an outcome, retries included.
    private func isDone(_ partition: Int32, below end: LaneEdge) throws -> Bool {
        guard core.isIdle(partition) else { return false }
        for stream in context.streams where stream.tier == nil {
            guard let first = core.firstUnfinished(of: stream, partition), first >= end[stream.kind] else {
                return false
            }
        }
        // Asked for after all of the dispatch topics has ended: nothing of this lane comes later.
        for (index, stream) in context.streams.enumerated() where stream.tier != nil {
            let place = TopicPartition(topic: context.topics[index], partition: partition)
            let ends = try consumer.endOffsets([place], timeout: .seconds(5))
            guard let first = core.firstUnfinished(of: stream, partition),
                !intake.streams[index].isWaiting(partition), first >= ends[place]?.value ?? 0
            else { return false }
        }
        return true
    }
}

extension LaneStart.Role {
    var isOld: Bool {
        switch self {
        case .old, .ended: true
        case .current, .new: false
        }
    }
}
