import KafkaClient
import Notifications
import Streaming

extension LaneWorker {
    /// Hands in what there is, and reads more.
    mutating func read(_ now: WallTime) throws(KafkaError) {
        guard case .reading = phase else { return }
        for number in intake.readOrder {
            let stream = intake.streams[number]
            handInWaiting(stream, now)
            // What was left in Kafka.
            let left = stream.takeLeft()
            if !left.isEmpty { try consumer.seek(to: left, timeout: .seconds(5)) }
            handInBatch(stream, now)
            guard stream.isRead, core.owned.contains(where: { core.isReading($0, stream.stream.kind) }) else {
                continue
            }
            if intake.fill(stream, with: &consumer) { refusal = nil }
            if stream.stream.tier == nil { pace.found(stream.first?.timestamp, in: stream.stream.kind, now: now) }
            handInBatch(stream, now)
        }
    }

    /// Reads again what waits in Kafka and may come into memory.
    mutating func readWaiting(_ now: WallTime) throws {
        guard case .reading = phase, core.wantsAny || !waiting.isIdle else { return }
        for partition in core.owned {
            for (index, stream) in context.streams.enumerated() {
                let place = TopicPartition(topic: context.topics[index], partition: partition)
                guard core.nextWanted(of: stream, partition, from: 0) != nil else {
                    waiting.rest(place)
                    continue
                }
                let errors = try waiting.read(
                    place,
                    wanted: { core.nextWanted(of: stream, partition, from: $0) },
                    take: { record, headers in
                        guard core.wants(record.offset, of: stream, partition),
                            case .own(let own, let note) = intake.read(record, headers, of: stream)
                        else { return }
                        core.found(
                            own, note, at: record.offset, of: stream, appendedAt: record.timestamp ?? .epoch, now: now)
                    })
                try considerErrors(errors)
            }
        }
    }

    /// What waited and does not have to wait any longer.
    private mutating func handInWaiting(_ stream: StreamIntake, _ now: WallTime) {
        for partition in stream.partitions {
            while core.isReading(partition, stream.stream.kind), let waiting = stream.firstWaiting(partition),
                handIn(waiting, from: stream.stream, now)
            {
                stream.removeFirstWaiting(partition)
            }
            if let reached = stream.takeReached(partition) { core.reached(reached, of: stream.stream, partition) }
        }
    }

    /// The records of the batch, until one has to stay in it.
    private mutating func handInBatch(_ stream: StreamIntake, _ now: WallTime) {
        while let partition = stream.partition, let first = stream.first {
            guard core.isReading(partition, stream.stream.kind) else { return }
            defer { stream.removeFirst() }
            guard stream.isFirstNext() else { continue }
            switch intake.read(stream) {
            case .own(let record, let note):
                let waiting = PartitionIntake.Waiting(
                    record: record, note: note, offset: first.offset, appendedAt: first.timestamp)
                if stream.isWaiting(partition) || !handIn(waiting, from: stream.stream, now) { stream.wait(waiting) }
            case .other: skip(first.offset, of: stream, partition)
            case .unreadable(let reason):
                context.meter.unreadable(stream.topic)
                if patience.isDue("unreadable") {
                    logger.error(
                        "\(stream.topic)/\(partition)/\(first.offset) is no record that can be sent: \(reason)")
                }
                skip(first.offset, of: stream, partition)
            }
        }
        for end in stream.takeEnds() { reach(end.offset, of: stream, end.partition) }
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

    /// Checks a consumer that has got nothing of a topic for a long time (docs/kafka.md 11).
    mutating func watchConsumer() throws(KafkaError) {
        guard case .reading = phase else { return }
        for (index, stream) in intake.streams.enumerated() where stream.watch.isCheckDue() {
            let owned = core.owned.filter { core.isReading($0, stream.stream.kind) && stream.firstWaiting($0) == nil }
            let places = owned.map { TopicPartition(topic: context.topics[index], partition: $0) }
            guard stream.isRead, let ends = try? consumer.endOffsets(places, timeout: .seconds(2)) else {
                stream.watch.progressed()
                continue
            }
            if stream.watch.isStuck(
                ends: ends.mapValues(\.value), reached: { core.firstUnread(of: stream.stream, $0.partition) ?? .max })
            {
                throw .stuckConsumer
            }
        }
    }
}
