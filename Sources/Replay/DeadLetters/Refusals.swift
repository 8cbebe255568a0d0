import Events
import Pipeline

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
