import Events
import KafkaClient

/// What a worker has read and not released. The records keep their consumer alive.
struct Intake: ~Copyable {
    var records = RecordBatch()
    /// Those that are to be processed.
    var batch: EventBatch
    /// Those below the committed offset, which are only folded.
    var refoldBatch: EventBatch

    init(_ source: SourceKind, topic: String) {
        batch = EventBatch(source, topic: topic)
        refoldBatch = EventBatch(source, topic: topic)
    }

    /// Releases the records that were read.
    mutating func removeAll() {
        batch.removeAll()
        refoldBatch.removeAll()
        records.removeAll()
    }

    /// Puts the records that are to be processed into ``batch``, and those that are only folded into ``refoldBatch``.
    mutating func sort(_ assignment: inout AssignmentMachine) {
        batch.removeAll()
        refoldBatch.removeAll()
        batch.append(headersOf: records)
        let source = batch.source
        let isFolding = isFolding(assignment)
        for index in 0..<records.count {
            let record = records[index]
            if isFolding, setAside(record, &assignment) { continue }
            guard assignment.positions[source].accepts(partition: record.partition, offset: record.offset) else {
                continue
            }
            batch.records.append(EventRecord(record))
        }
        guard isFolding else { return }
        if !refoldBatch.records.isEmpty { refoldBatch.headers.append(contentsOf: batch.headers) }
        for end in records.endsOfPartition { assignment.fold(end.partition.partition, upTo: end.offset.value) }
    }

    /// Whether the source has a state, and part of it is not yet that of the committed offsets.
    private func isFolding(_ assignment: borrowing AssignmentMachine) -> Bool {
        switch batch.source {
        case .orders: assignment.positions.orders.foldingCount > 0
        case .requests: false
        }
    }

    /// Takes a record that is only to be folded; one at or after the committed offset ends the partition's fold.
    private mutating func setAside(_ record: RecordView, _ assignment: inout AssignmentMachine) -> Bool {
        let isToFold = assignment.positions.orders.isToFold(partition: record.partition, offset: record.offset)
        if isToFold { refoldBatch.records.append(EventRecord(record)) }
        assignment.fold(record.partition, upTo: record.offset + (isToFold ? 1 : 0))
        return isToFold
    }
}
