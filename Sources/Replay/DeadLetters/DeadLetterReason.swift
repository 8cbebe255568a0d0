import Extraction
import Pipeline

/// What the headers of a dead letter say of it. Its own are the last ones, from `x-error-code` on, behind those of the
/// original record (ADR 10). One that failed before has a family for each time: the last one counts.
package struct DeadLetterReason: Equatable, Sendable {
    /// A label of ``DeadLetter/Code``, or one that this version does not know.
    package var code: String
    /// One sentence for a person.
    package var message: String
    /// Where the record stood, or of a timer `schedule`.
    package var topic: String
    package var place: Coordinates
    /// How many headers the original record had.
    package var originalHeaders: Int
    /// The topic took the first 64 KiB of the value only.
    package var isTruncated: Bool

    /// - Returns: nil for a record that no pipeline of this kind has written.
    package init?(_ headers: some RandomAccessCollection<EventHeader>) {
        func isNamed(_ header: EventHeader, _ name: String) -> Bool { header.name.elementsEqual(name.utf8) }
        guard let first = headers.lastIndex(where: { isNamed($0, "x-error-code") }) else { return nil }
        let own = headers[first...]
        func text(_ name: String) -> String? {
            own.first { isNamed($0, name) }?.value.map { String(decoding: $0, as: UTF8.self) }
        }
        guard text("__connect.errors.connector.name") == "carillon", let code = text("x-error-code"),
            let topic = text("__connect.errors.topic"),
            let partition = text("__connect.errors.partition").flatMap({ Int32($0) }),
            let offset = text("__connect.errors.offset").flatMap({ Int64($0) })
        else { return nil }
        self.code = code
        self.topic = topic
        message = text("__connect.errors.exception.message") ?? ""
        place = Coordinates(partition: partition, offset: offset)
        originalHeaders = headers.distance(from: headers.startIndex, to: first)
        isTruncated = own.contains { isNamed($0, "x-truncated") }
    }
}

/// The events and timers whose pushes the broker refused for good while the pipeline ran. A replay renders these all the
/// same; only their dead letters, `record_refused`, tell.
///
/// In memory: each has cost the pipeline several transactions, so there are few.
package struct Refusals {
    package struct Refusal: Equatable, Sendable {
        package var message: String
        /// Where the dead letter stands.
        package var place: Coordinates
    }

    private struct Source: Hashable {
        var event: Coordinates
        /// Of a timer its order; those of one order that go at the same offset are one.
        var timerOf: [UInt8]?
    }

    private let eventsTopic: String
    private var found: [Source: Refusal] = [:]

    package init(eventsTopic: String) {
        self.eventsTopic = eventsTopic
    }

    package var isEmpty: Bool { found.isEmpty }

    /// Takes a dead letter, whatever its code.
    package mutating func note(
        key: UnsafeRawBufferPointer?, headers: some RandomAccessCollection<EventHeader>, at place: Coordinates
    ) {
        guard let reason = DeadLetterReason(headers), reason.code == DeadLetter.Code.recordRefused.label else { return }
        let isTimer = reason.topic == EventBatch.scheduleTopic
        guard isTimer || reason.topic == eventsTopic else { return }
        let source = Source(event: reason.place, timerOf: isTimer ? key.map { Array($0) } ?? [] : nil)
        found[source] = Refusal(message: reason.message, place: place)
    }

    /// What became of the pushes of an event or timer then; nil: the broker took them.
    func refusal(of record: EventRecord, isTimer: Bool) -> Refusal? {
        if found.isEmpty { return nil }
        let order = isTimer ? record.key.map { Array($0) } ?? [] : nil
        return found[
            Source(event: Coordinates(partition: record.partition, offset: record.offset), timerOf: order)]
    }
}
