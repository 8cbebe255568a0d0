import Foundation
import Glibc
import NotificationPayload

/// Writes records as lines of JSON, in the envelope of ``RecordLine`` without partition, offset and time, which the
/// broker assigns. A line has no control character: it can go to a terminal.
package struct RecordLineWriter: ~Copyable, RenderSink {
    private let descriptor: Int32
    private let topics: PipelineConfiguration.Topics
    /// Whether each line says where its fields came from.
    private let explains: Bool
    /// The names of the settings, for saying which were found.
    private let members: MemberMapping
    /// What is wrong with the record at hand.
    private let findings: RequestFindings?
    /// The topic of the events that are written next.
    package var eventTopic: String
    private var output = ByteWriter(capacity: 128 * 1024)

    package init(
        descriptor: Int32, topics: PipelineConfiguration.Topics, explains: Bool, members: MemberMapping = .none,
        findings: RequestFindings? = nil
    ) {
        self.descriptor = descriptor
        self.topics = topics
        self.explains = explains
        self.members = members
        self.findings = findings
        eventTopic = topics.events
    }

    package mutating func begin(_ line: borrowing RecordLine, number: Int64) { eventTopic = line.topic }

    package mutating func beginTimers() { eventTopic = EventBatch.scheduleTopic }

    package mutating func dispatch(
        _ record: DispatchRecord, for notification: Notifications.Notification, from event: EventRecord
    ) throws(FileError) {
        begin(topic: topics.dispatch, key: record.key, value: record.value, headers: record.headers)
        if explains {
            switch notification.kind {
            case .order(let order):
                var fields: [(name: StaticString, value: String)] = [
                    ("time_slot", "\(order.sources.timeSlot)"), ("date", "\(order.sources.date)"),
                    ("order_id", "\(order.sources.orderID)"),
                ]
                let names = members.text(of: order.mappedNames)
                if !names.isEmpty { fields.append(("names", names)) }
                explain(event, fields)
            case .request: explain(event, [])
            }
        }
        try end()
    }

    package mutating func dispatch(_ record: DispatchRecord, from event: EventRecord) throws(FileError) {
        begin(topic: topics.broadcastDispatch, key: record.key, value: record.value, headers: record.headers)
        if explains { explain(event, []) }
        try end()
    }

    /// With `--explain` a record that cancels a broadcast has a line, which names it.
    package mutating func cancel(_ event: EventRecord) {
        guard explains else { return }
        output.append(#"{"cancelled":"#)
        append(event.key, asText: true)
        explain(event, [])
        output.append("}\n")
    }

    package mutating func deadLetter(
        _ letter: DeadLetter, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>, from event: EventRecord
    ) throws(FileError) {
        begin(topic: topics.deadLetters, key: key, value: value, headers: headers)
        if explains { explain(event, [("dead_letter", letter.code.label)], findings?.all ?? []) }
        try end()
    }

    /// With `--explain` an event that notifies nobody has a line too: one without a topic.
    package mutating func suppress(_ event: EventRecord, because reason: SuppressionReason) {
        guard explains else { return }
        output.append(#"{"suppressed":""#)
        append(reason.label)
        output.append(#"""#)
        explain(event, [])
        output.append("}\n")
    }

    /// With `--explain` a timer that is not sent has a line: its type, its order, and when it was due.
    package mutating func drop(_ timer: EventRecord, _ type: EventType, because drop: TimerDrop) {
        guard explains else { return }
        output.append(#"{"dropped":""#)
        append(drop.label)
        output.append(#"","event_type":""#)
        append(type.rawValue)
        output.append(#"""#)
        append("order_id", timer.key)
        output.append(#","due":""#)
        append((timer.timestamp ?? .epoch).iso8601)
        output.append(#"""#)
        explain(timer, [])
        output.append("}\n")
    }

    /// With `--explain` an event that cancels timers has a line that says how many.
    package mutating func cancelTimers(_ event: EventRecord, timers: Int, because drop: TimerDrop) {
        guard explains else { return }
        output.append(#"{"dropped":""#)
        append(drop.label)
        output.append(#"""#)
        if !drop.countsOrders {
            output.append(#","timers":"#)
            output.append(decimal: Int64(timers))
        }
        explain(event, [])
        output.append("}\n")
    }

    private mutating func begin(
        topic: String, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: UnsafeBufferPointer<EventHeader>
    ) {
        output.append(#"{"topic":""#)
        append(topic)
        output.append(#"","headers"#)
        let isText = headers.allSatisfy { $0.value?.isUTF8 ?? true }
        output.append(isText ? #"":["# : #"_base64":["#)
        for (index, header) in headers.enumerated() {
            if index > 0 { output.append(",") }
            output.append(#"""#)
            if header.name.isUTF8 {
                output.appendEscaped(header.name)
            } else {
                append(String(decoding: header.name, as: UTF8.self))
            }
            output.append(#"","#)
            append(header.value, asText: isText)
        }
        output.append("]")
        append("key", key)
        append("payload", value)
    }

    private mutating func append(_ name: StaticString, _ bytes: UnsafeRawBufferPointer?) {
        let isText = bytes?.isUTF8 ?? true
        output.append(#",""#)
        output.append(name)
        output.append(isText ? #"":"# : #"_base64":"#)
        append(bytes, asText: isText)
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer?, asText isText: Bool) {
        guard let bytes else { return output.append("null") }
        output.append(#"""#)
        if isText { output.appendEscaped(bytes) } else { append(Data(bytes).base64EncodedString()) }
        output.append(#"""#)
    }

    private mutating func explain(
        _ event: EventRecord, _ members: [(name: StaticString, value: String)], _ problems: [RequestFinding] = []
    ) {
        output.append(#","explain":{"source":""#)
        append("\(eventTopic)/\(event.partition)/\(event.offset)")
        for (name, value) in members {
            output.append(#"",""#)
            output.append(name)
            output.append(#"":""#)
            append(value)
        }
        output.append(#"""#)
        for (index, problem) in problems.enumerated() {
            output.append(index == 0 ? #","problems":[{"pointer":""# : #",{"pointer":""#)
            append(problem.pointer)
            output.append(#"","code":""#)
            append(problem.letter.code.label)
            output.append(#"","detail":""#)
            append(problem.letter.message)
            output.append(index == problems.count - 1 ? #""}]"# : #""}"#)
        }
        output.append("}")
    }

    private mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { output.appendEscaped(UnsafeRawBufferPointer($0)) }
    }

    private mutating func end() throws(FileError) {
        output.append("}\n")
        if output.count > 64 * 1024 { try flush() }
    }

    package mutating func flush() throws(FileError) {
        // Each text is in a string, so that a reader gets its bytes whether or not they are escaped.
        if let escaped = PlainJSON.escaped(output.bytes) {
            output.removeAll()
            escaped.withUnsafeBytes { output.append($0) }
        }
        var rest = output.bytes[...]
        while !rest.isEmpty {
            let written = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if written < 0, errno == EINTR { continue }
            guard written >= 0 else { throw FileError(path: "output", code: errno) }
            rest = rest[(rest.startIndex + written)...]
        }
        output.removeAll()
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the bytes are valid UTF-8.
    fileprivate var isUTF8: Bool {
        (try? UTF8Span(validating: Span(_unsafeElements: bindMemory(to: UInt8.self)))) != nil
    }
}
