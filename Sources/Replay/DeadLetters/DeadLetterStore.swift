import KafkaClient

/// The events that would be put back, in a ``Scratch`` by the coordinates of their dead letters.
final class DeadLetterStore {
    private let insert: Statement
    private let select: Statement

    init(_ scratch: Scratch) throws {
        try scratch.run(
            """
            CREATE TABLE dead_letters (partition, offset, target, time, key, value, headers,
            PRIMARY KEY (partition, offset))
            """)
        insert = try Statement(scratch, "INSERT OR REPLACE INTO dead_letters VALUES (?, ?, ?, ?, ?, ?, ?)")
        select = try Statement(
            scratch, "SELECT target, time, key, value, headers FROM dead_letters WHERE partition = ? AND offset = ?")
    }

    func append(_ event: ProducerRecord, at coordinates: Coordinates) throws {
        try insert.run(
            coordinates.partition, coordinates.offset, event.partition, event.timestamp, event.key, event.value,
            PackedTexts.pack(event.headers.flatMap { [Array($0.name.utf8), $0.value] }))
    }

    func event(at coordinates: Coordinates) throws -> ProducerRecord {
        try select.bind(coordinates.partition, coordinates.offset)
        guard let row = try select.next() else {
            throw ScratchError(code: 0, "a dead letter that is put back is not there")
        }
        var event = ProducerRecord(
            key: row.isNull(2) ? nil : Array(row.bytes(2)), value: row.isNull(3) ? nil : Array(row.bytes(3)),
            partition: row.optionalNumber(0).map(Int32.init))
        event.timestamp = row.optionalTime(1)
        let texts = PackedTexts.unpack(row.bytes(4))
        event.headers = stride(from: 0, to: texts.count, by: 2).map {
            RecordHeader(String(decoding: texts[$0] ?? [], as: UTF8.self), texts[$0 + 1])
        }
        return event
    }
}
