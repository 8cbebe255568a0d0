import FanOut
import JSONReader
import KafkaClient
import Subscriptions

/// A file of records as JSON lines, as ``RecordLine`` reads them. The records own their bytes.
package enum RecordFile {
    /// The records of a file in order; `-` is standard input. A bare event gets its order id as the key, as a producer
    /// of orders.events would give it.
    package static func records(path: String) throws -> [ProducerRecord] {
        var lines = try LineReader(path: path)
        var line = RecordLine()
        var reader = JSONReader()
        var records: [ProducerRecord] = []
        while let text = try lines.next() {
            if text.isEmpty { continue }
            line.read(text, bareTopic: "", bareOffset: 0)
            records.append(
                ProducerRecord(
                    key: line.key.map { Array($0) } ?? orderID(of: text, &reader), value: line.value.map { Array($0) },
                    headers: line.headers.map { header in
                        RecordHeader(String(decoding: header.name, as: UTF8.self), header.value.map { Array($0) })
                    }))
        }
        return records
    }

    /// The subscriptions of a file, with the keys that belong to them.
    package static func subscriptions(path: String) throws -> [ProducerRecord] {
        try records(path: path).map { record in
            guard let value = record.value, let subscription = try? Subscription.decode(value: value) else {
                return record
            }
            return ProducerRecord(key: Array(subscription.key.utf8), value: value)
        }
    }

    private static func orderID(of text: UnsafeRawBufferPointer, _ reader: inout JSONReader) -> [UInt8]? {
        guard let document = try? reader.parse(text), document.isObject else { return nil }
        let order = document.member("order").flatMap { $0.isObject ? $0 : nil } ?? document
        return (order.member("id")?.string ?? order.member("order_number")?.string).map { Array($0.bytes) }
    }
}
