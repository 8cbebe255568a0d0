import Glibc

/// Reads a topic from its beginning to the end that it has when the call starts.
package enum TopicReader {
    /// - Parameters:
    ///   - take: receives each record and the number of partitions, in offset order within a partition.
    ///   - progress: receives the fraction read so far.
    package static func readAll(
        _ topic: String, settings: Settings, logger sink: @escaping ClientLog.Sink,
        take: (_ record: ConsumerRecord, _ partitions: Int) throws -> Void, progress: (Double) -> Void = { _ in }
    ) throws {
        var consumer = try Consumer(assigning: settings, logger: sink)
        let bounds = try consumer.explaining { consumer throws(KafkaError) in
            try consumer.bounds(of: topic, timeout: .seconds(30))
        }
        try read(bounds, of: topic, with: &consumer) { batch, indices in
            for index in indices { try take(batch.record(at: index), bounds.count) }
        } progress: { _, fraction in
            progress(fraction)
        }
    }

    /// Reads ranges of a topic.
    ///
    /// - Parameters:
    ///   - take: receives a batch and the indices of its records that lie in the ranges, in offset order of each
    ///     partition; none if none arrive for a second. An error that it throws ends the read.
    ///   - progress: receives the number of records so far, and the fraction read.
    package static func read(
        _ ranges: [Int32: Range<Int64>], of topic: String, with consumer: inout Consumer,
        take: (borrowing RecordBatch, [Int]) throws -> Void, progress: (Int, Double) -> Void = { _, _ in }
    ) throws {
        var starts: [TopicPartition: Offset] = [:]
        var ends: [TopicPartition: Offset] = [:]
        for (partition, range) in ranges {
            let id = TopicPartition(topic: topic, partition: partition)
            starts[id] = Offset(range.lowerBound)
            ends[id] = Offset(range.upperBound)
        }
        var count = 0
        var indices: [Int] = []
        try read(from: starts, to: ends, with: &consumer) { batch in
            indices.removeAll(keepingCapacity: true)
            for index in 0..<batch.count {
                let record = batch[index]
                if let end = ranges[record.partition]?.upperBound, record.offset < end { indices.append(index) }
            }
            count += indices.count
            try take(batch, indices)
        } progress: {
            progress(count, $0)
        }
    }

    /// Reads these partitions, none of which may be assigned to `consumer` yet.
    ///
    /// Always returns or throws. If neither a record nor the end of a partition arrives for `patience`, it queries the
    /// current end offsets: a log that ends before the requested end was truncated, or its topic was recreated, and
    /// this throws. Records that retention deletes meanwhile are skipped, unless `auto.offset.reset=error`, which makes
    /// it throw.
    ///
    /// - Parameters:
    ///   - patience: how long nothing may arrive before the end offsets are queried. If the brokers do not answer, or
    ///     answer but send no records, this throws after six times as long.
    ///   - take: receives the records as they arrive, and an empty batch if none arrive for a second; the last ones may
    ///     lie beyond the ends. An error that it throws ends the read.
    /// - Throws: `KafkaError`: `.offsetOutOfRange` if the log does not hold the requested records; `.timedOut`, or its
    ///   cause, if nothing arrives.
    package static func read(
        from starts: [TopicPartition: Offset], to ends: [TopicPartition: Offset], with consumer: inout Consumer,
        patience: Duration = .seconds(10), take: (borrowing RecordBatch) throws -> Void,
        progress: (Double) -> Void = { _ in }
    ) throws {
        var open: [TopicPartition: Offset] = [:]
        for (partition, start) in starts {
            if let end = ends[partition], start < end { open[partition] = start }
        }
        let total = open.reduce(0) { $0 + ((ends[$1.key]?.value ?? 0) - $1.value.value) }
        try consumer.assign(open)
        var quiet = QuietTime(patience: patience)
        var records = RecordBatch()
        while !open.isEmpty {
            records.removeAll()
            consumer.fill(&records, limit: 2_000, timeout: min(patience, .seconds(1)))
            try advance(&open, by: records)
            try take(records)
            if !records.isEmpty || !records.endsOfPartition.isEmpty { quiet.reset() }
            if let error = records.errors.last { quiet.reason = error }
            let ended = open.filter { partition, offset in ends[partition].map { offset >= $0 } ?? true }.keys
            for partition in ended { open[partition] = nil }
            // What lies behind its end would only take the others' turns.
            if !ended.isEmpty, !open.isEmpty { try consumer.pause(ended) }
            let left = open.reduce(0) { $0 + ((ends[$1.key]?.value ?? 0) - $1.value.value) }
            progress(total > 0 ? 1 - Double(left) / Double(total) : 1)
            if let error = records.errors.first(where: { $0.recovery == .giveUp }) { throw error }
            if quiet.isCheckDue() {
                try check(open, to: ends, with: &consumer, &quiet)
                if quiet.isOver { throw quiet.reason ?? .nothingArrives(for: quiet.time) }
            }
        }
    }

    /// Waits until every transaction that has written to a topic so far has ended, so that its records can be read.
    ///
    /// - Returns: false if one is still open after `timeout`, or it was stopped.
    package static func waitUntilSettled(
        _ topic: String, settings: Settings, logger sink: @escaping ClientLog.Sink, timeout: Duration,
        until isStopped: () -> Bool
    ) throws(KafkaError) -> Bool {
        var open = settings
        open["isolation.level"] = "read_uncommitted"
        let written = try ends(of: topic, settings: open, sink)
        var consumer = try Consumer(assigning: settings, logger: sink)
        let partitions = Array(written.keys)
        let deadline = ContinuousClock.now + timeout
        while true {
            let stable = try consumer.explaining { consumer throws(KafkaError) in
                try consumer.endOffsets(partitions, timeout: .seconds(30))
            }
            if written.allSatisfy({ partition, end in stable[partition].map { $0 >= end } ?? false }) { return true }
            if isStopped() || .now >= deadline { return false }
            // The broker does not notify: polling is the only way to know.
            usleep(50_000)
        }
    }

    private static func ends(
        of topic: String, settings: Settings, _ sink: @escaping ClientLog.Sink
    ) throws(KafkaError) -> [TopicPartition: Offset] {
        var consumer = try Consumer(assigning: settings, logger: sink)
        return try consumer.explaining { consumer throws(KafkaError) in
            try consumer.endOffsets(consumer.partitions(of: topic, timeout: .seconds(30)), timeout: .seconds(30))
        }
    }

    /// - Throws: `.offsetOutOfRange` if a record lies below the position. The position then no longer exists, and
    ///   `auto.offset.reset` has moved the consumer to the start of what is another log.
    private static func advance(
        _ open: inout [TopicPartition: Offset], by records: borrowing RecordBatch
    ) throws(KafkaError) {
        for index in 0..<records.count {
            let record = records[index]
            let partition = TopicPartition(topic: record.topic, partition: record.partition)
            guard let position = open[partition] else { continue }
            guard record.offset >= position.value else {
                throw .cut(partition, "expected offset \(position) or later, but offset \(record.offset) arrived")
            }
            open[partition] = Offset(record.offset + 1)
        }
        // In a compacted or transactional log the last record may lie before the end offset: docs/kafka.md 19.
        for (partition, offset) in records.endsOfPartition {
            if let position = open[partition] { open[partition] = max(offset, position) }
        }
    }

    /// Checks that the log still holds what is to be read. If no broker answers, that is the reason why nothing
    /// arrives.
    private static func check(
        _ open: [TopicPartition: Offset], to ends: [TopicPartition: Offset], with consumer: inout Consumer,
        _ quiet: inout QuietTime
    ) throws(KafkaError) {
        let found: [TopicPartition: Offset]
        do throws(KafkaError) {
            found = try consumer.explaining { consumer throws(KafkaError) in
                try consumer.endOffsets(Array(open.keys), timeout: .seconds(10))
            }
        } catch {
            if error.recovery == .giveUp { throw error }
            quiet.reason = error
            return
        }
        for (partition, position) in open.sorted(by: { $0.key < $1.key }) {
            guard let end = found[partition], let wanted = ends[partition], end <= position else { continue }
            throw .cut(partition, "the log ends at offset \(end), before the requested end \(wanted)")
        }
    }
}

/// How long nothing has arrived, and when to check why.
private struct QuietTime {
    private let patience: Duration
    /// The latest error since then.
    var reason: KafkaError?
    private var began = ContinuousClock.now
    private var checked = ContinuousClock.now

    /// The read gives up after this many times the patience.
    private static let maxPatience = 6

    init(patience: Duration) {
        self.patience = patience
    }

    mutating func reset() {
        began = .now
        checked = began
        reason = nil
    }

    /// Whether a check is due; true at most once per patience.
    mutating func isCheckDue() -> Bool {
        guard .now - checked >= patience else { return false }
        checked = .now
        return true
    }

    var time: Duration { .now - began }

    var isOver: Bool { time >= patience * Self.maxPatience }
}

extension KafkaError {
    fileprivate static func cut(_ partition: TopicPartition, _ finding: String) -> KafkaError {
        KafkaError(
            kind: .offsetOutOfRange, recovery: .giveUp, name: "",
            message:
                "\(finding): the log was cut, or the topic was deleted and created again, while it was read. Run it again",
            operation: "read", partition: partition)
    }

    fileprivate static func nothingArrives(for time: Duration) -> KafkaError {
        KafkaError(
            kind: .timedOut, recovery: .retry, name: "",
            message: "nothing has arrived for \(time.components.seconds) s, although the log holds more: run it again",
            operation: "read")
    }
}
