import KafkaClient
import Pipeline
import StateStore

/// The events that would be put back, in a scratch store by the place of their dead letters.
final class DeadLetterStore {
    private static let flushBytes = 16 << 20

    private let store: any OrderedStore
    private var pending: [(key: [UInt8], value: [UInt8])] = []
    private var pendingBytes = 0

    /// - Parameter store: empty, and used by nobody else.
    init(_ store: any OrderedStore) {
        self.store = store
    }

    func append(_ event: ProducerRecord, at place: Coordinates) throws(StoreError) {
        let value = Self.encode(event)
        pendingBytes += value.count
        pending.append((Self.key(place), value))
        if pendingBytes > Self.flushBytes { try flush() }
    }

    /// Writes what was appended. Call it before reading.
    func flush() throws(StoreError) {
        try store.write { writer throws(StoreError) in try writer.put(pending) }
        pending.removeAll()
        pendingBytes = 0
    }

    func event(at place: Coordinates) throws(StoreError) -> ProducerRecord? {
        let reader = try store.makeReader()
        try reader.begin()
        var found: UnsafeRawBufferPointer?
        try Self.key(place).withStored { key throws(StoreError) in found = try reader.value(for: key) }
        return found.map(Self.decode)
    }

    private static func key(_ place: Coordinates) -> [UInt8] {
        bigEndian(UInt32(bitPattern: place.partition)) + bigEndian(UInt64(bitPattern: place.offset))
    }

    // MARK: One record: partition, time, then each text after its length; -1 means null.

    private static func encode(_ event: ProducerRecord) -> [UInt8] {
        var bytes = bigEndian(event.partition ?? -1) + bigEndian(event.timestamp?.milliseconds ?? -1)
        func add(_ text: [UInt8]?) {
            bytes += bigEndian(Int32(text?.count ?? -1))
            bytes += text ?? []
        }
        add(event.key)
        add(event.value)
        for header in event.headers {
            add(Array(header.name.utf8))
            add(header.value)
        }
        return bytes
    }

    private static func decode(_ bytes: UnsafeRawBufferPointer) -> ProducerRecord {
        var place = 12
        func text() -> [UInt8]? {
            let count = Int(Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: Int32.self)))
            place += 4
            guard count >= 0 else { return nil }
            defer { place += count }
            return Array(bytes[place..<place + count])
        }
        let partition = Int32(bigEndian: bytes.loadUnaligned(as: Int32.self))
        let time = Int64(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: Int64.self))
        var event = ProducerRecord(key: text(), value: text(), partition: partition < 0 ? nil : partition)
        event.timestamp = time < 0 ? nil : WallTime(milliseconds: time)
        while place < bytes.count {
            event.headers.append(RecordHeader(String(decoding: text() ?? [], as: UTF8.self), text()))
        }
        return event
    }
}
