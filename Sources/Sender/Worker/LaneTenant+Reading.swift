import KafkaClient
import Notifications
import Streaming

extension LaneTenant {
    /// Reads again what waits in Kafka and may come into memory.
    mutating func readWaiting(_ now: WallTime) throws {
        guard core.wantsAny || !waiting.isIdle else { return }
        for partition in core.owned {
            for (index, stream) in context.streams.enumerated() {
                let topicPartition = TopicPartition(topic: context.topics[index], partition: partition)
                guard core.nextWanted(of: stream, partition, from: 0) != nil else {
                    waiting.rest(topicPartition)
                    continue
                }
                let errors = try waiting.read(
                    topicPartition,
                    wanted: { core.nextWanted(of: stream, partition, from: $0) },
                    take: { record, headers in
                        guard core.wants(record.offset, of: stream, partition),
                            case .own(let own, let note) = intake.read(record, headers, of: stream)
                        else { return }
                        core.found(
                            own, note, at: record.offset, of: stream, appendedAt: record.timestamp ?? .epoch, now: now)
                    })
                try consider(errors)
            }
        }
    }

    /// Handles what the reader of waiting records reports.
    private func consider(_ errors: [KafkaError]) throws {
        for error in errors {
            if error.kind == .offsetOutOfRange { throw lost(error) }
            if error.isFatal { throw error }
            if let line = try context.host.consider(error, ownPatience) { logger.warning("\(line); waiting") }
        }
    }

    /// What waited and does not have to wait any longer.
    mutating func handInWaiting(_ stream: StreamIntake, _ now: WallTime) {
        for partition in stream.partitions {
            while core.isReading(partition, stream.stream.kind), let waiting = stream.firstWaiting(partition),
                handIn(waiting, from: stream.stream, now)
            {
                stream.removeFirstWaiting(partition)
            }
            if let reached = stream.takeReached(partition) { core.reached(reached, of: stream.stream, partition) }
        }
    }

    /// What was left in Kafka.
    mutating func takeBack() -> [TopicPartition: Offset] {
        intake.streams.reduce(into: [:]) { $0.merge($1.takeLeft()) { $1 } }
    }

    /// The records of a batch, until one has to stay in it.
    mutating func take(
        _ batch: borrowing RecordBatch, from first: Int, of input: Int, _ time: TransactionTime
    ) -> Int {
        let stream = intake.streams[input]
        var next = first
        while next < batch.count {
            let record = batch[next]
            guard core.isReading(record.partition, stream.stream.kind) else { break }
            next += 1
            if stream.isNext(record.offset, record.partition) {
                handIn(record, batch.headers, from: stream, time.clock)
            }
        }
        stream.left = next < batch.count ? batch[next].timestamp ?? .epoch : nil
        return next
    }

    private mutating func handIn(
        _ record: RecordView, _ headers: [HeaderView], from stream: StreamIntake, _ now: WallTime
    ) {
        let partition = record.partition
        switch intake.read(record, headers, of: stream.stream) {
        case .own(let own, let note):
            let waiting = PartitionIntake.Waiting(
                record: own, note: note, offset: record.offset, appendedAt: record.timestamp ?? .epoch)
            if stream.isWaiting(partition) || !handIn(waiting, from: stream.stream, now) { stream.wait(waiting) }
        case .other: skip(record.offset, of: stream, partition)
        case .unreadable(let reason):
            context.meter.unreadable(stream.topic)
            if ownPatience.isDue("unreadable") {
                logger.error(
                    "\(stream.topic)/\(partition)/\(record.offset) is no record that can be sent: \(reason)")
            }
            skip(record.offset, of: stream, partition)
        }
    }

    mutating func reached(_ offset: Int64, of partition: TopicPartition) {
        guard let stream = intake.streams.first(where: { $0.topic == partition.topic }) else { return }
        reach(offset, of: stream, partition.partition)
    }

    /// A record that is nothing to this lane.
    private mutating func skip(_ offset: Int64, of stream: StreamIntake, _ partition: Int32) {
        reach(offset + 1, of: stream, partition)
    }

    /// Everything below this offset was read. While something waits, that counts only when it has been handed in; nothing
    /// else may come after it that would say so.
    private mutating func reach(_ offset: Int64, of stream: StreamIntake, _ partition: Int32) {
        if stream.isWaiting(partition) {
            stream.reach(offset, partition)
        } else {
            core.reached(offset, of: stream.stream, partition)
        }
    }

    /// - Returns: false if it has to wait.
    private mutating func handIn(_ waiting: PartitionIntake.Waiting, from stream: LaneStream, _ now: WallTime) -> Bool {
        switch stream {
        case .dispatch: return core.dispatch(waiting.record, now: now)
        case .tier(_, let tier):
            guard core.due(appendedAt: waiting.appendedAt, tier: tier) <= now else { return false }
            // A note is part of every record of a retry topic that was read.
            guard let note = waiting.note else { return true }
            return core.retry(
                waiting.record, note, tier: tier, at: waiting.offset, appendedAt: waiting.appendedAt, now: now)
        }
    }
}
