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
        var event: EventCoordinates
        /// Of a timer its order; several of one order that fire at the same offset count as one.
        var timerOf: [UInt8]?
    }

    private let topics: PipelineConfiguration.Topics
    private var found: [Source: Refusal] = [:]
    /// Where the dead letters of events and requests are, of all codes.
    private var places: [EventCoordinates: Coordinates] = [:]
    /// A person does not look at more; a place that is left out is not told.
    private static let mostPlaces = 1_000_000

    package init(topics: PipelineConfiguration.Topics) {
        self.topics = topics
    }

    package var isEmpty: Bool { found.isEmpty }

    /// Takes a dead letter, whatever its code.
    package mutating func note(
        key: UnsafeRawBufferPointer?, headers: some RandomAccessCollection<EventHeader>, at place: Coordinates
    ) {
        guard let reason = DeadLetterReason(headers) else { return }
        if let original = reason.original(topics), places.count < Self.mostPlaces { places[original] = place }
        guard reason.code == DeadLetter.Code.recordRefused.label else { return }
        let isTimer = reason.topic == EventBatch.scheduleTopic
        guard let kind = isTimer ? .orders : topics.source(of: reason.topic) else { return }
        let event = EventCoordinates(SourcePartition(kind, reason.place.partition), offset: reason.place.offset)
        let source = Source(event: event, timerOf: isTimer ? key.map { Array($0) } ?? [] : nil)
        found[source] = Refusal(message: reason.message, place: place)
    }

    /// The place of an event's or a request's own dead letter; nil if it is not known.
    func place(of record: EventRecord, from source: SourceKind) -> Coordinates? {
        places[EventCoordinates(SourcePartition(source, record.partition), offset: record.offset)]
    }

    /// The dead letter that the pushes of an event or timer became; nil: the broker accepted them.
    func refusal(of record: EventRecord, from source: SourceKind, isTimer: Bool) -> Refusal? {
        if found.isEmpty { return nil }
        let order = isTimer ? record.key.map { Array($0) } ?? [] : nil
        let event = EventCoordinates(SourcePartition(source, record.partition), offset: record.offset)
        return found[Source(event: event, timerOf: order)]
    }
}
