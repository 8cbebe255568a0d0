/// The events and timers whose pushes the broker permanently rejected, or did not take in time, while the pipeline ran. A
/// replay still renders them; only their dead letters, `record_refused` and `transaction_timeout`, show that they were not
/// sent.
///
/// In memory: each one cost the pipeline several transactions, so there are few.
package struct Refusals {
    package struct Refusal: Equatable, Sendable {
        package var code: DeadLetter.Code
        package var message: String
        /// The position of the dead letter.
        package var position: Coordinates
    }

    private struct Source: Hashable {
        var event: EventCoordinates
        /// Of a timer its order; several of one order that fire at the same offset count as one.
        var timerOf: [UInt8]?
    }

    private let topics: PipelineConfiguration.Topics
    private var found: [Source: Refusal] = [:]
    /// The positions of the dead letters of events and requests, of all codes.
    private var positions: [EventCoordinates: Coordinates] = [:]
    /// A person does not look at more; a position that is left out is not told.
    private static let mostPositions = 1_000_000

    package init(topics: PipelineConfiguration.Topics) {
        self.topics = topics
    }

    package var isEmpty: Bool { found.isEmpty }

    /// Takes a dead letter, whatever its code.
    package mutating func note(
        key: UnsafeRawBufferPointer?, headers: some RandomAccessCollection<EventHeader>, at position: Coordinates
    ) {
        guard let reason = DeadLetterReason(headers) else { return }
        if let original = reason.original(topics), positions.count < Self.mostPositions {
            positions[original] = position
        }
        guard let code = DeadLetter.Code(label: reason.code), code.isOfBroker else { return }
        let isTimer = reason.topic == EventBatch.scheduleTopic
        guard let kind = isTimer ? .orders : topics.source(of: reason.topic) else { return }
        let event = EventCoordinates(
            SourcePartition(kind, reason.coordinates.partition), offset: reason.coordinates.offset)
        let source = Source(event: event, timerOf: isTimer ? key.map { Array($0) } ?? [] : nil)
        found[source] = Refusal(code: code, message: reason.message, position: position)
    }

    /// The position of an event's or a request's own dead letter; nil if it is not known.
    func position(of record: EventRecord, from source: SourceKind) -> Coordinates? {
        positions[EventCoordinates(SourcePartition(source, record.partition), offset: record.offset)]
    }

    /// The dead letter that the pushes of an event or timer became; nil: the broker accepted them.
    func refusal(of record: EventRecord, from source: SourceKind, isTimer: Bool) -> Refusal? {
        if found.isEmpty { return nil }
        let order = isTimer ? record.key.map { Array($0) } ?? [] : nil
        let event = EventCoordinates(SourcePartition(source, record.partition), offset: record.offset)
        return found[Source(event: event, timerOf: order)]
    }
}
