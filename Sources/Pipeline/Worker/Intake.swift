import KafkaClient

/// What a worker has read of one source and is at work on: it points into the bytes of Kafka's batch.
struct Intake: ~Copyable {
    /// Whose records they are.
    var source = SourceKind.orders
    private var orders: EventBatch
    private var requests: EventBatch
    private var foldedOrders: EventBatch
    private var foldedRequests: EventBatch
    /// The first record that was not emitted, and the first that was not extracted.
    var next = 0
    var extracted = 0
    /// The partitions of ``source`` whose fold has reached the committed offset.
    private var finishedFolds: [Int32] = []

    init(_ topics: PipelineConfiguration.Topics) {
        orders = EventBatch(.orders, topic: topics.topic(of: .orders))
        requests = EventBatch(.requests, topic: topics.topic(of: .requests))
        foldedOrders = EventBatch(.orders, topic: topics.topic(of: .orders))
        foldedRequests = EventBatch(.requests, topic: topics.topic(of: .requests))
    }

    /// The records that are to be processed.
    var batch: EventBatch {
        _read {
            switch source {
            case .orders: yield orders
            case .requests: yield requests
            }
        }
        _modify {
            switch source {
            case .orders: yield &orders
            case .requests: yield &requests
            }
        }
    }

    /// The records below the committed offset, which are only folded.
    var refoldBatch: EventBatch {
        _read {
            switch source {
            case .orders: yield foldedOrders
            case .requests: yield foldedRequests
            }
        }
        _modify {
            switch source {
            case .orders: yield &foldedOrders
            case .requests: yield &foldedRequests
            }
        }
    }

    /// Whether something is left to emit.
    var isAtWork: Bool { next < batch.records.count }

    /// The partitions whose state became that of the committed offset since the last call, once their records are folded.
    mutating func takeFinishedFolds() -> [Int32] {
        defer { finishedFolds.removeAll(keepingCapacity: true) }
        return finishedFolds
    }

    /// Forgets the records that were read.
    mutating func removeAll() {
        orders.removeAll()
        requests.removeAll()
        foldedOrders.removeAll()
        foldedRequests.removeAll()
        finishedFolds.removeAll()
        (next, extracted) = (0, 0)
    }

    /// Puts the records that are to be processed into ``batch``, and those that are only folded into ``refoldBatch``.
    mutating func sort(_ records: borrowing RecordBatch, of source: SourceKind, _ positions: inout Positions) {
        self.source = source
        refoldBatch.removeAll()
        (next, extracted) = (0, 0)
        if positions[source].foldingCount > 0 {
            sortWhileFolding(records, &positions[source])
        } else {
            Self.fill(&batch, with: records, of: positions[source])
        }
    }

    private static func fill(
        _ batch: inout EventBatch, with records: borrowing RecordBatch, of positions: borrowing TopicPositions
    ) {
        batch.removeAll()
        batch.append(contextOf: records)
        for index in 0..<records.count {
            let record = records[index]
            guard positions.accepts(partition: record.partition, offset: record.offset) else { continue }
            batch.records.append(EventRecord(record))
        }
    }

    private mutating func sortWhileFolding(_ records: borrowing RecordBatch, _ positions: inout TopicPositions) {
        batch.removeAll()
        batch.append(contextOf: records)
        for index in 0..<records.count {
            let record = records[index]
            if setAside(record, &positions) { continue }
            guard positions.accepts(partition: record.partition, offset: record.offset) else { continue }
            batch.records.append(EventRecord(record))
        }
        if !refoldBatch.records.isEmpty { refoldBatch.headers.append(contentsOf: batch.headers) }
    }

    /// Takes a record that is only to be folded; one at or after the committed offset ends the partition's fold.
    private mutating func setAside(_ record: RecordView, _ positions: inout TopicPositions) -> Bool {
        let isToFold = positions.isToFold(partition: record.partition, offset: record.offset)
        if isToFold { refoldBatch.records.append(EventRecord(record)) }
        if positions.fold(partition: record.partition, upTo: record.offset + (isToFold ? 1 : 0)) {
            finishedFolds.append(record.partition)
        }
        return isToFold
    }
}
