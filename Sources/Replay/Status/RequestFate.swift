import KafkaClient
import Notifications

/// What became of one request, found from the position of its record.
package struct RequestFate: Equatable, Sendable {
    package enum State: Equatable, Sendable {
        /// No transaction of the pipeline has covered it.
        case recorded
        /// The pipeline has written a push for each of these devices.
        ///
        /// - Parameter outcomes: how many of them have which one; nil: not known.
        case sent(devices: Int, outcomes: [DeliveryOutcome: Int]?)
        /// The pipeline has written nothing for it.
        case suppressed
        case deadLetter(code: String, message: String, at: RecordPosition)
    }

    package var id: String?
    /// As it names them.
    package var audiences: [String]
    package var time: WallTime
    package var state: State

    /// Whether it is the request with this id, by its bytes.
    package func isOf(_ id: String) -> Bool { self.id?.utf8.elementsEqual(id.utf8) ?? false }
}

extension KafkaLog {
    /// How much later than its last record a transaction's other records are: they were given to the same producer before.
    private static let shortly: Int64 = 5_000

    /// Finds what became of a request: its record, then the journal from its time on until an entry covers it, then what
    /// that transaction has written, then what the providers have answered. Each is a seek by time.
    ///
    /// - Returns: nil if there is no such record.
    /// - Throws: ``TooMuchToRead``, ``ReplayStopped``, `KafkaError`.
    package mutating func fate(
        ofRequest record: Coordinates, _ configuration: PipelineConfiguration
    ) throws -> RequestFate? {
        let topics = configuration.topics
        guard try bounds(of: topics.requests)[record.partition]?.contains(record.offset) == true,
            var fate = try readRequest(record, configuration)
        else { return nil }
        let event = EventCoordinates(SourcePartition(.requests, record.partition), offset: record.offset)
        let near = fate.time - ReplaySession.skew
        guard
            let entry = try journalEntry(of: event, from: near, to: nil, configuration)
                // The timestamp of a request may be ahead of the clock.
                ?? journalEntry(of: event, from: near - ReplaySession.mostAhead, to: near, configuration)
        else { return fate }
        let from = min(entry.step.clock, entry.time) - ReplaySession.skew
        let span = (from: from, to: entry.time + Self.shortly)
        let source = "\(record.position(in: topics.requests))"
        let pushes = try pushes(of: source, in: entry.step.dispatch, span)
        if !pushes.isEmpty {
            let outcomes = try outcomes(of: pushes, writtenTo: entry.step.dispatch, in: topics.deliveries, since: from)
            fate.state = .sent(devices: pushes.count, outcomes: outcomes)
        } else {
            fate.state = try deadLetter(of: event, topics, span) ?? .suppressed
        }
        return fate
    }

    private func readRequest(_ record: Coordinates, _ configuration: PipelineConfiguration) throws -> RequestFate? {
        let topic = configuration.topics.requests
        var reader = RequestReader(configuration.requests, topic: topic)
        var batch = EventBatch(.requests, topic: topic)
        var fate: RequestFate?
        try read([record.partition: record.offset..<record.offset + 1], of: topic) { records, indices in
            batch.removeAll()
            batch.append(contextOf: records)
            for index in indices {
                let event = EventRecord(records[index])
                let reading = reader.read(event, of: batch)
                fate = RequestFate(
                    id: reading.requestID, audiences: reading.audiences, time: event.timestamp ?? .epoch,
                    state: .recorded)
            }
        }
        return fate
    }

    /// Ends a read that has found what it looked for.
    private struct Found: Error {}

    /// What the transaction that covers a record says of its partition, and the time of the entry.
    private mutating func journalEntry(
        of event: EventCoordinates, from: WallTime, to: WallTime?, _ configuration: PipelineConfiguration
    ) throws -> (step: JournalStep, time: WallTime)? {
        let topic = configuration.topics.journal
        let parser = JournalParser(topics: configuration.topics)
        var entry: (step: JournalStep, time: WallTime)?
        do {
            try read(try range(of: topic, from: from, to: to), of: topic) { records, indices in
                for index in indices {
                    let at = Coordinates(partition: records[index].partition, offset: records[index].offset)
                    let steps = (try? parser.read(records[index].value, at: at)) ?? []
                    let step = steps.first {
                        $0.partition == event.partition && ($0.from..<$0.to).contains(event.offset)
                            && $0.group == configuration.groupID
                    }
                    guard let step else { continue }
                    entry = (step, records[index].timestamp ?? step.clock)
                    throw Found()
                }
            }
        } catch is Found {}
        return entry
    }

    /// The devices of the pushes with a source, by their positions.
    private mutating func pushes(
        of source: String, in topic: String, _ span: (from: WallTime, to: WallTime)
    ) throws -> [Coordinates: String] {
        var reader = DispatchTopic()
        var found: [Coordinates: String] = [:]
        try read(try range(of: topic, from: span.from, to: span.to), of: topic) { records, indices in
            for index in indices {
                reader.withRecord(of: records, at: index) { push, position in
                    guard push.replayID == nil, push[.source]?.elementsEqual(source.utf8) == true else { return }
                    found[position] = String(decoding: push.key, as: UTF8.self)
                }
            }
        }
        return found
    }

    private mutating func deadLetter(
        of event: EventCoordinates, _ topics: PipelineConfiguration.Topics, _ span: (from: WallTime, to: WallTime)
    ) throws -> RequestFate.State? {
        let topic = topics.deadLetters
        var found: RequestFate.State?
        try read(try range(of: topic, from: span.from, to: span.to), of: topic) { records, indices in
            for index in indices {
                let record = records[index]
                let headers = records.headers[record.headers].map { EventHeader($0) }
                guard let reason = DeadLetterReason(headers), reason.original(topics) == event else { continue }
                found = .deadLetter(
                    code: reason.code, message: reason.message,
                    at: RecordPosition(topic, record.partition, record.offset))
            }
        }
        return found
    }

    /// How many pushes have which outcome; nil if that is not known: there is no topic of outcomes, it may not be read, or
    /// they are behind too many others.
    private mutating func outcomes(
        of pushes: [Coordinates: String], writtenTo topic: String, in deliveries: String, since time: WallTime
    ) throws -> [DeliveryOutcome: Int]? {
        var outcomes = PushOutcomes(of: pushes, in: topic)
        do {
            let partitions = outcomes.partitions
            let bounds = try bounds(of: deliveries).filter { partitions.contains($0.key) }
            try readDeliveries(try range(of: deliveries, in: bounds, from: time), of: deliveries) { [outcomes] in
                outcomes.wants($0.key)
            } take: { outcome, _ in
                outcomes.note(outcome)
                if outcomes.areComplete { throw Found() }
            } progress: { _, _ in
            }
        } catch is Found {
        } catch is TooMuchToRead {
            return nil
        } catch let error as KafkaError where error.leavesOutcomesUnknown {
            return nil
        }
        return outcomes.counts
    }
}
