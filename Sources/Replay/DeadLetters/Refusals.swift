import Events
import Pipeline

/// The events and timers whose pushes the broker permanently rejected while the pipeline ran. A replay still renders
/// them; only their dead letters, `record_refused`, show that they were not sent.
///
/// In memory: each one cost the pipeline several transactions, so there are few.
package struct Refusals {
    package struct Refusal: Equatable, Sendable {
        package var message: String
        /// The place of the dead letter.
        package var place: Coordinates
    }

    private struct Source: Hashable {
        var event: Coordinates
        /// Of a timer its order; several of one order that fire at the same offset count as one.
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

    /// The dead letter that the pushes of an event or timer became; nil: the broker accepted them.
    func refusal(of record: EventRecord, isTimer: Bool) -> Refusal? {
        if found.isEmpty { return nil }
        let order = isTimer ? record.key.map { Array($0) } ?? [] : nil
        return found[
            Source(event: Coordinates(partition: record.partition, offset: record.offset), timerOf: order)]
    }
}
