/// Reads events and requests as the extraction does, each by itself. One owner.
struct RecordReader: ~Copyable {
    private var events: EventReader
    private var requests: RequestReader

    init(_ configuration: PipelineConfiguration) {
        events = EventReader(configuration.rules, topic: configuration.topics.events)
        requests = RequestReader(configuration.requests, topic: configuration.topics.requests)
    }

    mutating func read(_ record: EventRecord, of batch: borrowing EventBatch) -> EventReading {
        switch batch.source {
        case .orders: events.read(record, of: batch)
        case .requests: requests.read(record, of: batch)
        }
    }
}

/// Reads requests. One owner.
struct RequestReader: ~Copyable {
    private var extractor: RequestExtractor
    private var batch: EventBatch

    init(_ rules: RequestRules, topic: String) {
        extractor = RequestExtractor(rules: rules)
        batch = EventBatch(.requests, topic: topic)
    }

    mutating func read(_ record: EventRecord, of requests: borrowing EventBatch) -> EventReading {
        batch.hold(record, of: requests)
        let facts = extractor.facts(of: 0, in: batch)
        var reading = EventReading()
        reading.orders = facts.orderID.map { [$0] } ?? []
        reading.audiences = facts.audiences
        reading.places = facts.audiences.filter { $0.hasPrefix(Self.place) }.map {
            String($0.dropFirst(Self.place.count))
        }
        reading.types = facts.content.map { [$0.rawValue] } ?? []
        reading.requestID = facts.id
        if case .deadLetter(let letter) = extractor.extract(0, in: &batch) { reading.deadLetter = letter }
        for push in batch.notifications {
            reading.messageID = batch.string(push.messageID)
            reading.time = push.eventTime
            switch push.kind {
            case .order: break
            case .request(_, let index): reading.expiresAt = batch.requests[index].expiresAt
            }
        }
        return reading
    }

    private static let place = "place/"
}
