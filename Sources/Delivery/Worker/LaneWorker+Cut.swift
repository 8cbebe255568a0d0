import Deliveries
import KafkaClient
import Pipeline

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
    private func isDone(_ partition: Int32, below end: Int64) throws -> Bool {
        guard core.isIdle(partition), let first = core.firstUnfinished(of: .dispatch, partition), first >= end
        else { return false }
        // Asked for after all of the dispatch topic has ended: nothing of this lane comes later.
        for (index, topic) in context.streams.enumerated().dropFirst() {
            let place = TopicPartition(topic: topic, partition: partition)
            let ends = try consumer.endOffsets([place], timeout: .seconds(5))
            guard let first = core.firstUnfinished(of: LaneStream(index: index), partition),
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
