import KafkaClient
import NotificationPayload

/// Applies the present rules to a dead letter, and builds the event or request that would be put back. One owner.
struct DeadLetterTrial: ~Copyable {
    /// The headers that tell the pipeline the coordinates of the event when it first failed, after ``mark``. An event without
    /// an id of its own gets its message id from them, and an event with these headers is never treated as a duplicate.
    private static let coordinateNames = [
        "__connect.errors.topic", "__connect.errors.partition", "__connect.errors.offset",
    ]
    /// Names the dead letter that an event was put back from: `<topic>/<partition>/<offset>`.
    static let mark = "replay-of"

    enum Verdict {
        case left(DeadLetterLeft, DeadLetterReason?, DeadLetter?)
        case candidate(DeadLetterCandidate, ProducerRecord)
    }

    private let request: DeadLetterRequest
    private let topics: PipelineConfiguration.Topics
    private var reader: RecordReader
    private let types: EventTypes
    /// Of the original events and requests of all dead letters read so far, selected or not.
    private(set) var dead: Set<EventCoordinates> = []

    init(_ request: DeadLetterRequest, _ configuration: PipelineConfiguration) {
        self.request = request
        topics = configuration.topics
        reader = RecordReader(configuration)
        types = configuration.rules.types
    }

    /// - Parameter record: its headers are in `headers`.
    /// - Returns: nil for a dead letter that is not selected.
    mutating func judge(_ record: RecordView, headers: [EventHeader]) -> Verdict? {
        let coordinates = Coordinates(partition: record.partition, offset: record.offset)
        let repaired = request.repaired?[coordinates]
        let reason = DeadLetterReason(headers)
        let original = reason.flatMap { $0.original(topics) }
        if let original { dead.insert(original) }
        if request.repaired != nil, repaired == nil { return nil }
        guard let reason else {
            return request.codes.isEmpty ? .left(.foreign, nil, nil) : nil
        }
        guard request.codes.isEmpty || request.codes.contains(reason.code) else { return nil }
        func left(_ why: DeadLetterLeft, _ letter: DeadLetter? = nil) -> Verdict {
            .left(why, reason, letter)
        }
        guard let original else { return left(.otherTopic) }
        if reason.isTruncated, repaired == nil { return left(.truncated) }
        // This version does not know what another version's code means.
        let canBeTried = DeadLetter.Code(label: reason.code)?.canBeTriedAlone ?? false
        if repaired == nil, !request.codes.contains(reason.code), !canBeTried { return left(.untried) }
        var event = ProducerRecord(
            key: record.key.map { Array($0) }, value: repaired ?? record.value.map { Array($0) },
            headers: Self.headers(
                headers, reason, at: "\(topics.deadLetters)/\(coordinates.partition)/\(coordinates.offset)"),
            partition: reason.coordinates.partition)
        event.timestamp = record.timestamp
        let reading = read(event, at: original)
        if let letter = reading.deadLetter { return left(.stillDead, letter) }
        let time = reading.time ?? record.timestamp ?? .epoch
        if time < request.oldest { return left(.tooOld) }
        let candidate = DeadLetterCandidate(
            coordinates: coordinates, event: original, code: reason.code, type: reading.type, order: reading.order,
            time: time, timestamp: record.timestamp ?? time, expiresAt: reading.expiresAt, key: event.key,
            touchesState: reading.touchesState, home: original.partition.number)
        if let planned = request.planned, candidate.isExpired(at: planned) { return left(.expired) }
        return .candidate(candidate, event)
    }

    /// The headers of the original record and the coordinates of its first failure, without those added later.
    private static func headers(
        _ all: [EventHeader], _ reason: DeadLetterReason, at position: String
    ) -> [RecordHeader] {
        func copy(_ header: EventHeader) -> RecordHeader {
            RecordHeader(String(decoding: header.name, as: UTF8.self), header.value.map { Array($0) })
        }
        let headers = all[..<reason.originalHeaders].map(copy)
        // It was put back before, and failed again: what follows the mark of that time is ours.
        let end = headers.firstIndex { $0.name == mark } ?? headers.endIndex
        let first = end < headers.endIndex ? headers[end...] : all[reason.originalHeaders...].map(copy)[...]
        return headers[..<end] + [RecordHeader(mark, Array(position.utf8))]
            + coordinateNames.compactMap { name in first.first { $0.name == name } }
    }

    private mutating func read(_ event: ProducerRecord, at coordinates: EventCoordinates) -> DeadLetterReading {
        let source = coordinates.partition.source
        let copies = ByteCopies()
        var batch = EventBatch(source, topic: topics.topic(of: source))
        for header in event.headers {
            batch.headers.append(
                EventHeader(name: copies.copy(header.name.utf8), value: header.value.map { copies.copy($0) }))
        }
        batch.records.append(
            EventRecord(
                partition: coordinates.partition.number, offset: coordinates.offset,
                timestamp: event.timestamp, key: event.key.map { copies.copy($0) },
                value: event.value.map { copies.copy($0) },
                headers: batch.headers.indices))
        return withExtendedLifetime(copies) {
            DeadLetterReading(reader.read(batch.records[0], of: batch), of: source, types)
        }
    }
}

/// What the rules read in the value of a dead letter.
struct DeadLetterReading {
    var type = ""
    var order: String?
    /// Its own time; nil if it is missing or invalid.
    var time: WallTime?
    /// Nil if it does not expire before it is emitted.
    var expiresAt: WallTime?
    /// Whether it may change the state of an order.
    var touchesState = false
    /// Why the rules reject it.
    var deadLetter: DeadLetter?

    init(_ reading: EventReading, of source: SourceKind, _ types: EventTypes) {
        type = reading.types.first ?? ""
        time = reading.time
        expiresAt = reading.expiresAt
        deadLetter = reading.deadLetter
        switch source {
        case .orders:
            order = reading.orders.first { !$0.isEmpty }
            touchesState = types.type(rawValue: type)?.changesOrder ?? true
        case .requests: break
        }
    }
}
