import DispatchRecords
import Events
import Foundation
import KafkaClient
import Telemetry

/// One thread that reads a topic with grouped records and writes those of single devices to another one:
///
///     records ─► devices ─► records and offsets, in one Kafka transaction
///
/// After any error it asks the group where it is, and continues from there: that is all the state there is.
struct ExpansionWorker: ~Copyable {
    enum Phase {
        case unassigned
        /// The committed offsets are asked for.
        case locating([TopicPartition])
        case reading
    }

    private static let batchSize = 500

    let context: ExpansionContext
    let logger: Logger
    let patience = Patience()
    var consumer: Consumer
    var output: ExpansionOutput
    var group: GroupMetadata?
    var phase = Phase.unassigned
    private var batch = RecordBatch()
    /// The first record of the batch that was not taken.
    private var next = 0
    private var expander = Expander()
    private var taken = TakenOffsets()
    var open = OpenExpansion()
    var backoff = Backoff()
    var fencings = Fencings()
    /// Nothing is read before; after an error.
    var nextAttempt = ContinuousClock.now

    /// Waits for the broker as long as it takes.
    init(_ context: ExpansionContext, logger: Logger) throws {
        let output = try Self.makeOutput(context, patience, logger)
        consumer = try Self.makeConsumer(context, logger)
        self.output = output
        self.context = context
        self.logger = logger
    }

    /// Works until the service drains or stops.
    ///
    /// - Throws: ``PipelineError`` where a person has to act.
    mutating func run() throws {
        while !context.mustStop {
            do {
                if try round() { return }
            } catch let error as KafkaError {
                try recover(from: error)
            }
        }
    }

    /// One round.
    ///
    /// - Returns: whether the worker has ended.
    private mutating func round() throws -> Bool {
        try serveControl()
        if context.mustEnd {
            try commit()
            return true
        }
        switch phase {
        case .unassigned: wait()
        case .locating(let partitions): try locate(partitions)
        case .reading: try work()
        }
        return false
    }

    /// There is nothing to do before the group, the broker or the clock has moved.
    func wait() { Thread.sleep(forTimeInterval: 0.02) }

    private mutating func work() throws {
        guard .now >= nextAttempt else { return wait() }
        if next == batch.count {
            // They count once every record before them was taken.
            for end in batch.endsOfPartition where taken.advance(end.partition.partition, to: end.offset.value) {
                open.reached(end.partition, end.offset)
            }
            batch.removeAll()
            next = 0
            consumer.fill(&batch, limit: Self.batchSize, timeout: open.isEmpty ? .milliseconds(20) : .milliseconds(2))
            try considerErrors(batch.errors)
        }
        while next < batch.count, open.pushes < context.configuration.commitMaxRecords {
            try take(next)
            next += 1
        }
        if open.isDue(context.configuration) { try commit() }
    }

    /// Writes the records of one that was read.
    private mutating func take(_ index: Int) throws {
        let record = batch[index]
        do {
            open.took(record, pushes: try expander.write(batch, index, to: &output))
            _ = taken.advance(record.partition, to: record.offset + 1)
        } catch let error as GroupedRecordError {
            try commit()
            throw PipelineError.decisionNeeded(
                "\(record.topic)/\(record.partition)/\(record.offset) is grouped, and its devices cannot be read: \(error); "
                    + "nothing of it was written: if it is not to be sent, move the group \(context.settings.group) past it"
            )
        }
    }

    /// Forgets what was read.
    mutating func removeAll() {
        batch.removeAll()
        next = 0
        taken = TakenOffsets()
        open = OpenExpansion()
    }

    /// Leaves the group.
    consuming func close() {
        batch.removeAll()
        consumer.close()
    }
}

/// Writes the records for single devices. The memory is reused.
private struct Expander: ~Copyable {
    private var headers: [EventHeader] = []
    private var reader = GroupedReader()

    /// - Returns: how many were written.
    /// - Throws: ``GroupedRecordError`` before anything is written.
    mutating func write(
        _ batch: borrowing RecordBatch, _ index: Int, to output: inout ExpansionOutput
    ) throws -> Int {
        let record = batch[index]
        headers.removeAll(keepingCapacity: true)
        for header in batch.headers[record.headers] { headers.append(EventHeader(header)) }
        var count = 0
        try headers.withUnsafeBufferPointer { headers in
            let empty = UnsafeRawBufferPointer(start: nil, count: 0)
            let dispatch = DispatchRecord(key: record.key ?? empty, value: record.value ?? empty, headers: headers)
            guard dispatch.isGrouped else {
                // As it is, also a null key or value.
                count = 1
                return try output.write(key: record.key, value: record.value, headers)
            }
            try reader.forEachDevice(of: dispatch) { single in
                count += 1
                try output.write(key: single.key, value: single.value, single.headers)
            }
        }
        return count
    }
}

/// The next offset of each partition, in whatever transaction it is. An end that was reached says less than a record that
/// was read after it.
struct TakenOffsets {
    private var next: [Int32: Int64] = [:]

    /// - Returns: false if the partition is as far already; then nothing has changed.
    mutating func advance(_ partition: Int32, to offset: Int64) -> Bool {
        if let known = next[partition], known >= offset { return false }
        next[partition] = offset
        return true
    }
}

/// What the open transaction has.
struct OpenExpansion {
    /// The next offset of each partition.
    private(set) var offsets: [TopicPartition: CommittedOffset] = [:]
    private(set) var records = 0
    private(set) var pushes = 0
    private var since = ContinuousClock.now

    var isEmpty: Bool { offsets.isEmpty }

    mutating func took(_ record: RecordView, pushes: Int) {
        reached(TopicPartition(topic: record.topic, partition: record.partition), Offset(record.offset + 1))
        records += 1
        self.pushes += pushes
    }

    /// Everything of a partition below this offset was taken: also the markers of transactions, which take offsets.
    mutating func reached(_ partition: TopicPartition, _ offset: Offset) {
        if isEmpty { since = .now }
        offsets[partition] = CommittedOffset(offset: offset, metadata: "")
    }

    func isDue(_ configuration: PipelineConfiguration) -> Bool {
        !isEmpty
            && (pushes >= configuration.commitMaxRecords || .now - since >= configuration.commitInterval)
    }
}
