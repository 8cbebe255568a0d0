import KafkaClient

/// What a worker has read and not released: records of one source. They keep their consumer alive.
struct Intake: ~Copyable {
    var records = RecordBatch()
    /// Whose records they are.
    var source = SourceKind.orders
    private var orders: EventBatch
    private var requests: EventBatch
    /// Orders' events below the committed offset, which are only folded.
    var refoldBatch: EventBatch

    init(_ topics: PipelineConfiguration.Topics) {
        orders = EventBatch(.orders, topic: topics.topic(of: .orders))
        requests = EventBatch(.requests, topic: topics.topic(of: .requests))
        refoldBatch = EventBatch(.orders, topic: topics.topic(of: .orders))
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

    /// Releases the records that were read.
    mutating func removeAll() {
        orders.removeAll()
        requests.removeAll()
        refoldBatch.removeAll()
        records.removeAll()
    }

    /// Puts the records that are to be processed into ``batch``, and those that are only folded into ``refoldBatch``.
    mutating func sort(_ assignment: inout WorkerAssignment) {
        refoldBatch.removeAll()
        switch source {
        case .orders:
            if assignment.positions.orders.foldingCount > 0 {
                sortWhileFolding(&assignment)
            } else {
                Self.fill(&orders, with: records, of: assignment.positions.orders)
            }
        case .requests: Self.fill(&requests, with: records, of: assignment.positions.requests)
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

    private mutating func sortWhileFolding(_ assignment: inout WorkerAssignment) {
        orders.removeAll()
        orders.append(contextOf: records)
        for index in 0..<records.count {
            let record = records[index]
            if setAside(record, &assignment) { continue }
            guard assignment.positions.orders.accepts(partition: record.partition, offset: record.offset) else {
                continue
            }
            orders.records.append(EventRecord(record))
        }
        if !refoldBatch.records.isEmpty { refoldBatch.headers.append(contentsOf: orders.headers) }
        for end in records.endsOfPartition { assignment.fold(end.partition.partition, upTo: end.offset.value) }
    }

    /// Takes a record that is only to be folded; one at or after the committed offset ends the partition's fold.
    private mutating func setAside(_ record: RecordView, _ assignment: inout WorkerAssignment) -> Bool {
        let isToFold = assignment.positions.orders.isToFold(partition: record.partition, offset: record.offset)
        if isToFold { refoldBatch.records.append(EventRecord(record)) }
        assignment.fold(record.partition, upTo: record.offset + (isToFold ? 1 : 0))
        return isToFold
    }
}
