/// The headers of a dead letter: the original ones, then `x-error-code` and Kafka Connect's `__connect.errors.*`
/// (docs/rules.md §4.2). All of them are text that `kcat` prints.
///
/// A record that was dead-lettered before and failed again keeps the headers of both failures: readers use the last
/// ones.
package struct DeadLetterHeaders {
    private var text: [UInt8] = []
    private var fields: [(name: StaticString, value: Range<Int>)] = []
    private var headers: [EventHeader] = []

    package init() {}

    package mutating func withHeaders(
        of letter: DeadLetter, for event: EventRecord, in batch: borrowing EventBatch,
        _ body: (UnsafeBufferPointer<EventHeader>) throws -> Void
    ) rethrows {
        try withHeaders(of: letter, for: event, of: batch.topic, own: batch.headers[event.headers], body)
    }

    /// - Parameters:
    ///   - topic: the record's.
    ///   - own: the headers of the record.
    package mutating func withHeaders(
        of letter: DeadLetter, for event: EventRecord, of topic: String, own: ArraySlice<EventHeader>,
        _ body: (UnsafeBufferPointer<EventHeader>) throws -> Void
    ) rethrows {
        text.removeAll(keepingCapacity: true)
        fields.removeAll(keepingCapacity: true)
        add("x-error-code", letter.code.label)
        add("__connect.errors.topic", topic)
        add("__connect.errors.partition", String(event.partition))
        add("__connect.errors.offset", String(event.offset))
        add("__connect.errors.connector.name", "carillon")
        add("__connect.errors.stage", letter.code.stage)
        add("__connect.errors.exception.message", letter.message)
        headers.removeAll(keepingCapacity: true)
        headers.append(contentsOf: own)
        try text.withUnsafeBytes { text in
            for field in fields {
                headers.append(
                    EventHeader(
                        name: UnsafeRawBufferPointer(start: field.name.utf8Start, count: field.name.utf8CodeUnitCount),
                        value: UnsafeRawBufferPointer(rebasing: text[field.value])))
            }
            try headers.withUnsafeBufferPointer(body)
        }
    }

    private mutating func add(_ name: StaticString, _ value: String) {
        let start = text.count
        text.append(contentsOf: value.utf8)
        fields.append((name, start..<text.count))
    }
}
