import Extraction
import KafkaClient
import Pipeline

/// What the events say behind dead letters: which of them stand in the log again, and which orders have gone on without.
struct PutBackIndex {
    private let eventsTopic: String
    private let deadLetterTopic: String
    /// The id of this run, whose own records are not another one's.
    private let id: String?
    /// Where events stand that became dead letters: they never counted.
    private let dead: Set<Coordinates>
    /// Of the keys that candidates have, the newest offset, by partition.
    private var newest: [Key: Int64] = [:]
    private var own: Set<Coordinates> = []
    private var marked: Set<Coordinates> = []
    private var returned: Set<Coordinates> = []

    private struct Key: Hashable {
        var partition: Int32
        var bytes: [UInt8]
    }

    init(
        _ candidates: [DeadLetterCandidate], dead: Set<Coordinates>, _ topics: PipelineConfiguration.Topics,
        id: String?
    ) {
        self.dead = dead
        eventsTopic = topics.events
        deadLetterTopic = topics.deadLetters
        self.id = id
        for candidate in candidates {
            guard let key = candidate.key, candidate.touchesState else { continue }
            newest[Key(partition: candidate.event.partition, bytes: key)] = -1
        }
    }

    /// Takes an event of the log, whichever.
    mutating func note(_ record: RecordView, headers: [EventHeader]) {
        func text(_ name: String) -> String? {
            headers.last { $0.name.elementsEqual(name.utf8) }?.value.map { String(decoding: $0, as: UTF8.self) }
        }
        var offset = record.offset
        if let place = text(DeadLetterTrial.mark).flatMap(place(inMark:)) {
            if let id, text("replay") == id { own.insert(place) } else { marked.insert(place) }
            // It counts where it came from, not where it stands now.
            offset = text("__connect.errors.offset").flatMap { Int64($0) } ?? offset
        }
        // One that a person has written back as it was, with all its headers.
        if let reason = DeadLetterReason(headers), reason.topic == eventsTopic {
            returned.insert(reason.place)
            offset = reason.place.offset
        }
        guard !newest.isEmpty, let key = record.key,
            !dead.contains(Coordinates(partition: record.partition, offset: record.offset))
        else { return }
        let name = Key(partition: record.partition, bytes: Array(key))
        if let known = newest[name] { newest[name] = max(known, offset) }
    }

    /// This run has put it back, before it was interrupted.
    func isDone(_ candidate: DeadLetterCandidate) -> Bool { own.contains(candidate.place) }

    func isPutBack(_ candidate: DeadLetterCandidate) -> Bool {
        marked.contains(candidate.place) || returned.contains(candidate.event)
    }

    func isLate(_ candidate: DeadLetterCandidate) -> Bool {
        guard candidate.touchesState, let key = candidate.key else { return false }
        let offset = newest[Key(partition: candidate.event.partition, bytes: key)] ?? -1
        return offset > candidate.event.offset
    }

    private func place(inMark text: String) -> Coordinates? {
        let parts = text.split(separator: "/")
        guard parts.count == 3, parts[0] == deadLetterTopic, let partition = Int32(parts[1]),
            let offset = Int64(parts[2])
        else { return nil }
        return Coordinates(partition: partition, offset: offset)
    }
}
