import KafkaClient

/// What the topics of events and requests say after the dead letters: which of them were put back, and which orders have
/// newer events. One owner, one thread.
final class PutBackIndex {
    private let topics: PipelineConfiguration.Topics
    /// The id of this run: its own records do not count as put back by another.
    private let id: String
    /// Coordinates of events and requests that became dead letters: they never counted.
    private let dead: Set<EventCoordinates>
    /// The newest events of the candidates' keys; more than one if a key has had several partitions.
    private var newest: [[UInt8]: [Newest]] = [:]
    private var own: Set<Coordinates> = []
    private var marked: Set<Coordinates> = []
    private var returned: Set<EventCoordinates> = []

    /// Of one partition.
    private struct Newest {
        var partition: Int32
        var offset: Int64
        var time: WallTime
    }

    init(
        _ candidates: [DeadLetterCandidate], dead: Set<EventCoordinates>, _ topics: PipelineConfiguration.Topics,
        id: String
    ) {
        self.dead = dead
        self.topics = topics
        self.id = id
        for candidate in candidates {
            guard let key = candidate.key, candidate.touchesState else { continue }
            newest[key] = []
        }
    }

    /// Takes any record of the topic of a source.
    ///
    /// - Returns: whether it is as its producer wrote it, and was not put back.
    @discardableResult
    func note(_ record: RecordView, of source: SourceKind, headers: [EventHeader]) -> Bool {
        func text(_ name: String) -> String? {
            headers.last { $0.name.elementsEqual(name.utf8) }?.value.map { String(decoding: $0, as: UTF8.self) }
        }
        let stands = EventCoordinates(SourcePartition(source, record.partition), offset: record.offset)
        var coordinates = stands
        var isFirst = true
        if let mark = text(DeadLetterTrial.mark).flatMap(self.coordinates(inMark:)) {
            isFirst = false
            if text(ResendProducer.header) == id { own.insert(mark) } else { marked.insert(mark) }
            // It counts at its original offset, not its present one.
            let partition = text("__connect.errors.partition").flatMap { Int32($0) }
            coordinates.partition.number = partition ?? coordinates.partition.number
            coordinates.offset = text("__connect.errors.offset").flatMap { Int64($0) } ?? coordinates.offset
        }
        // A person has written it back unchanged, with all its headers.
        if let original = DeadLetterReason(headers)?.original(topics), original.partition.source == source {
            isFirst = false
            returned.insert(original)
            coordinates = original
        }
        switch source {
        case .requests: break  // They have no state that a newer one could be ahead of.
        case .orders:
            guard !newest.isEmpty, let key = record.key, !dead.contains(stands) else { break }
            note(coordinates, at: record.timestamp ?? .epoch, of: Array(key))
        }
        return isFirst
    }

    private func note(_ coordinates: EventCoordinates, at time: WallTime, of key: [UInt8]) {
        guard let known = newest[key] else { return }
        guard let index = known.firstIndex(where: { $0.partition == coordinates.partition.number }) else {
            newest[key]?.append(Newest(partition: coordinates.partition.number, offset: coordinates.offset, time: time))
            return
        }
        newest[key]?[index].offset = max(known[index].offset, coordinates.offset)
        newest[key]?[index].time = max(known[index].time, time)
    }

    /// This run has put it back.
    func isDone(_ candidate: DeadLetterCandidate) -> Bool { own.contains(candidate.coordinates) }

    func isPutBack(_ candidate: DeadLetterCandidate) -> Bool {
        marked.contains(candidate.coordinates) || returned.contains(candidate.event)
    }

    /// Compared by offset in the original partition; in other partitions that its key has had, by time.
    func isLate(_ candidate: DeadLetterCandidate) -> Bool {
        guard candidate.touchesState, let key = candidate.key else { return false }
        return (newest[key] ?? []).contains {
            $0.partition == candidate.event.partition.number
                ? $0.offset > candidate.event.offset : $0.time >= candidate.timestamp
        }
    }

    private func coordinates(inMark text: String) -> Coordinates? {
        let parts = text.split(separator: "/")
        guard parts.count == 3, parts[0] == topics.deadLetters, let partition = Int32(parts[1]),
            let offset = Int64(parts[2])
        else { return nil }
        return Coordinates(partition: partition, offset: offset)
    }
}
