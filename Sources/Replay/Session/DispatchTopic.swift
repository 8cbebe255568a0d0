import DispatchRecords
import Events
import KafkaClient
import Pipeline

/// Reads records of a dispatch topic as those for single devices, whether they are grouped or not. One owner; the memory
/// is reused.
struct DispatchTopic: ~Copyable {
    private var headers: [EventHeader] = []
    private var grouped = GroupedReader()

    /// Calls `body` with the record for each device of a record, valid during the call, and with the record's place.
    ///
    /// - Throws: ``ReplayRefusal`` for a grouped record that cannot be read, since what it sent is not known.
    mutating func forEachDevice(
        of records: borrowing RecordBatch, at index: Int, _ body: (DispatchRecord, Coordinates) throws -> Void
    ) throws {
        let record = records[index]
        let place = Coordinates(partition: record.partition, offset: record.offset)
        headers.removeAll(keepingCapacity: true)
        for header in records.headers[record.headers] { headers.append(EventHeader(header)) }
        do {
            try headers.withUnsafeBufferPointer { headers in
                try grouped.forEachDevice(of: DispatchRecord(record, headers: headers)) { try body($0, place) }
            }
        } catch let error as GroupedRecordError {
            throw ReplayRefusal(
                "\(record.topic)/\(place.partition)/\(place.offset) is grouped, and its devices cannot be read: \(error)"
            )
        }
    }
}
