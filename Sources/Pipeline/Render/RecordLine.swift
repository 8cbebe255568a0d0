import Foundation
import JSONReader

/// One record as a line of JSON: in the envelope that `kcat -J` prints, or a bare value.
///
/// `{"topic","partition","offset","tstype","ts","key","headers":[name,value,…],"payload"}`. What is not UTF-8 is given as
/// `key_base64`, `payload_base64` and `headers_base64`, because `kcat -J` is not byte-safe. A line without this envelope
/// is the value itself, byte for byte.
package struct RecordLine: ~Copyable {
    private var reader = JSONReader()
    package private(set) var topic = ""
    package private(set) var partition: Int32 = 0
    package private(set) var offset: Int64 = 0
    /// Nil where the line has none.
    package private(set) var timestamp: WallTime?
    package private(set) var key: UnsafeRawBufferPointer?
    package private(set) var value: UnsafeRawBufferPointer?
    package private(set) var headers: [EventHeader] = []
    /// Whether the line is the value itself.
    package private(set) var isBare = false
    /// The decoded base64, freed at the next line.
    private let decoded = ByteCopies()

    package init() {}

    /// Makes the line the only record of a batch, which points into the line's bytes.
    package func fill(_ batch: inout EventBatch) {
        batch.removeAll()
        batch.topic = topic
        batch.headers.append(contentsOf: headers)
        batch.records.append(record)
    }

    /// The line as a record, whose headers are ``headers``.
    package var record: EventRecord {
        EventRecord(
            partition: partition, offset: offset, timestamp: timestamp, key: key, value: value, headers: headers.indices
        )
    }

    /// Reads a line; everything in it is valid until the next call, and as long as `line` is.
    ///
    /// - Parameters:
    ///   - bareTopic: the topic of a bare value.
    ///   - bareOffset: its offset.
    package mutating func read(_ line: UnsafeRawBufferPointer, bareTopic: String, bareOffset: Int64) {
        decoded.removeAll()
        headers.removeAll(keepingCapacity: true)
        topic = bareTopic
        partition = 0
        offset = bareOffset
        timestamp = .epoch
        key = nil
        value = line
        isBare = true
        guard let document = try? reader.parse(line), document.isObject, document.member("topic")?.isString == true,
            document.member("payload") != nil || document.member("payload_base64") != nil
        else { return }
        isBare = false
        readEnvelope(document)
    }

    private mutating func readEnvelope(_ document: JSONValue) {
        timestamp = nil
        value = nil
        var members = document.members
        while let (name, member) = members.next() {
            let text = member.string?.bytes
            if name == "topic", let text { topic = String(decoding: text, as: UTF8.self) }
            if name == "partition", let number = member.integer { partition = Int32(clamping: number) }
            if name == "offset", let number = member.integer { offset = number }
            if name == "ts", let number = member.integer, number >= 0 { timestamp = WallTime(milliseconds: number) }
            if name == "key" { key = text }
            if name == "payload" { value = text }
            if name == "key_base64", let text { key = decode(text) }
            if name == "payload_base64", let text { value = decode(text) }
            if name == "headers", member.isArray { readHeaders(member, isBase64: false) }
            if name == "headers_base64", member.isArray { readHeaders(member, isBase64: true) }
        }
    }

    private mutating func readHeaders(_ list: JSONValue, isBase64: Bool) {
        var elements = list.elements
        while let name = elements.next() {
            guard let text = name.string?.bytes else { return }
            let value = elements.next()?.string?.bytes
            headers.append(EventHeader(name: text, value: isBase64 ? value.map { decode($0) } : value))
        }
    }

    private mutating func decode(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        decoded.copy(Data(base64Encoded: Data(text)) ?? Data())
    }
}
