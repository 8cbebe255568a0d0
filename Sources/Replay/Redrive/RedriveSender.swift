import KafkaClient
import Pipeline
import StateStore

/// Sends the pushes of a list in their order, a transaction for each second's worth, from where the cursor stands.
struct RedriveSender {
    let list: RedriveList
    /// By partition, the events that are selected.
    let ranges: [Int32: Range<Int64>]
    var cursor: RedriveCursor
    var pace: RedrivePace

    /// - Parameter progress: called after each transaction.
    /// - Throws: what ``RedriveProducer/send(_:reaching:)`` throws; what was committed until then stays.
    mutating func send(with producer: inout RedriveProducer, progress: (RedriveCursor) -> Void) throws {
        while true {
            let block = try list.next(after: cursor.key, limit: pace.recordsAtOnce)
            guard !block.isEmpty else { break }
            if producer.mustStop { throw ReplayStopped() }
            do {
                try send(block, with: &producer)
            } catch is RecordRefused {
                try sendEach(block, with: &producer)
            }
            progress(cursor)
            producer.wait(until: pace.next(after: block.count, now: .now))
        }
        var done = cursor
        done.isDone = true
        // Wherever it came to last; a re-drive without a range has nothing to note.
        guard let partition = ranges.keys.min() else { return }
        try producer.send([], reaching: positions(of: [partition: ranges[partition]?.lowerBound ?? 0], done))
        cursor = done
    }

    private mutating func send(_ block: [RedriveList.Entry], with producer: inout RedriveProducer) throws {
        var next = cursor
        next.sent += block.count
        next.key = block.last?.key ?? next.key
        try producer.send(block.map { ProducerRecord($0.record) }, reaching: positions(of: block, next))
        cursor = next
    }

    /// A transaction for each, so that only those are left out that no broker takes.
    private mutating func sendEach(_ block: [RedriveList.Entry], with producer: inout RedriveProducer) throws {
        for entry in block {
            do {
                try send([entry], with: &producer)
            } catch is RecordRefused {
                var next = cursor
                next.refused += 1
                next.key = entry.key
                try producer.send([], reaching: positions(of: [entry], next))
                cursor = next
            }
        }
    }

    private func positions(of block: [RedriveList.Entry], _ next: RedriveCursor) -> [Int32: RedrivePosition] {
        var offsets: [Int32: Int64] = [:]
        for entry in block { offsets[entry.place.partition] = entry.place.offset }
        return positions(of: offsets, next)
    }

    private func positions(of offsets: [Int32: Int64], _ next: RedriveCursor) -> [Int32: RedrivePosition] {
        var positions: [Int32: RedrivePosition] = [:]
        for (partition, offset) in offsets {
            var cursor = next
            cursor.range = ranges[partition] ?? 0..<0
            positions[partition] = RedrivePosition(offset: offset, text: cursor.text)
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
