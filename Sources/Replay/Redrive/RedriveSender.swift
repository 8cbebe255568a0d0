import KafkaClient

/// Sends the pushes of a list in order, one transaction for each second's worth, starting at the cursor. Before each
/// transaction it checks what has changed since the plan, and leaves out the pushes that must no longer be sent.
struct RedriveSender: ~Copyable {
    private typealias Judged = (entry: RedriveList.Entry, omission: RedriveOmission?)

    let list: RedriveList
    /// By partition, the selected offsets.
    let ranges: [SourcePartition: Range<Int64>]
    let topics: PipelineConfiguration.Topics
    var cursor: RedriveCursor
    var pace: Pace
    var watch: RedriveWatch
    let clock: () -> WallTime

    /// - Parameter progress: called after each transaction.
    /// - Throws: what ``RedriveProducer/send(_:reaching:)`` and ``RedriveWatch/look(tell:)`` throw; what was committed
    ///   before remains.
    mutating func send(with producer: inout RedriveProducer, progress: (RedriveCursor) -> Void) throws {
        while true {
            let entries = try list.next(after: cursor.key, limit: pace.recordsAtOnce)
            guard !entries.isEmpty else { break }
            if producer.mustStop { throw ReplayStopped() }
            let before = cursor.sent
            let block = try judge(entries, tell: producer.tell)
            do {
                // Checks again after a failure: it may have taken long.
                guard try send(block, with: &producer) else { continue }
            } catch is RecordRefused {
                try sendEach(block, with: &producer)
            }
            progress(cursor)
            producer.wait(until: pace.take(cursor.sent - before, now: .now))
        }
        var done = cursor
        done.isDone = true
        // The partition reached last; a re-drive without a range has no position to commit.
        guard let partition = ranges.keys.min() else { return }
        try producer.send([], reaching: positions(of: [partition: ranges[partition]?.lowerBound ?? 0], done))
        cursor = done
        progress(cursor)
    }

    private mutating func judge(_ entries: [RedriveList.Entry], tell: (String) -> Void) throws -> [Judged] {
        try watch.look(tell: tell)
        let now = clock()
        var block: [Judged] = []
        for entry in entries { block.append((entry, try watch.reason(against: entry, now: now))) }
        return block
    }

    /// - Returns: false if nothing was sent; the cursor is then unchanged.
    private mutating func send(_ block: [Judged], with producer: inout RedriveProducer) throws -> Bool {
        var next = cursor
        var records: [ProducerRecord] = []
        for (entry, omission) in block {
            if let omission {
                next.leftOut[omission, default: 0] += 1
            } else {
                next.sent += 1
                records.append(ProducerRecord(entry.record))
            }
            next.key = entry.key
        }
        guard try producer.sendOnce(records, reaching: positions(of: block.map(\.entry), next)) else { return false }
        cursor = next
        return true
    }

    /// One transaction for each push, so that only those that the broker rejects are left out.
    private mutating func sendEach(_ block: [Judged], with producer: inout RedriveProducer) throws {
        for judged in block {
            do {
                // If one fails, the rest of the block is sent with the next block.
                guard try send([judged], with: &producer) else { return }
            } catch is RecordRefused {
                var next = cursor
                next.refused += 1
                next.key = judged.entry.key
                try producer.send([], reaching: positions(of: [judged.entry], next))
                cursor = next
            }
        }
    }

    private func positions(of block: [RedriveList.Entry], _ next: RedriveCursor) -> [TopicPartition: RedrivePosition] {
        var offsets: [SourcePartition: Int64] = [:]
        for entry in block { offsets[entry.place.partition] = entry.place.offset }
        return positions(of: offsets, next)
    }

    private func positions(
        of offsets: [SourcePartition: Int64], _ next: RedriveCursor
    ) -> [TopicPartition: RedrivePosition] {
        var positions: [TopicPartition: RedrivePosition] = [:]
        for (partition, offset) in offsets {
            var cursor = next
            cursor.range = ranges[partition] ?? 0..<0
            positions[topics.topicPartition(of: partition)] = RedrivePosition(offset: offset, text: cursor.text)
        }
        return positions
    }
}

extension ProducerRecord {
    fileprivate init(_ record: RenderedRecord) {
        self.init(
            key: record.key, value: record.value,
            headers: record.headers.map { RecordHeader($0.name, $0.value) })
    }
}
