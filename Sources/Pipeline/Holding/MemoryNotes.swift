import KafkaClient

/// The positions at which processes of one state folder have ended while they only waited for a partition's next batch and took
/// ever more memory: what a decompression bomb does, and no other crash (ADR 56).
struct MemoryNotes: Equatable, Sendable {
    struct Note: Equatable, Sendable {
        /// How many processes have ended there.
        var deaths: Int
        /// This process waits there, and has taken more memory meanwhile.
        var isGrowing = false
    }

    /// After so many deaths, partitions are read one after another, so that it is certain which it was.
    static let untilTurns = 2
    /// After so many, the partition is held.
    static let untilHeld = 3

    private(set) var notes: [RecordPosition: Note] = [:]

    init() {}

    /// What ``text`` has written; a line that is none of it, as after a full disk, is left out.
    init(_ text: String) {
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count == 5, let deaths = Int(words[0]), let partition = Int32(words[3]),
                let offset = Int64(words[4]), ["growing", "-"].contains(words[1])
            else { continue }
            let position = RecordPosition(String(words[2]), partition, offset)
            notes[position] = Note(deaths: deaths, isGrowing: words[1] == "growing")
        }
    }

    /// A line for each position: `<deaths> growing|- <topic> <partition> <offset>`.
    var text: String {
        notes.sorted { $0.key < $1.key }.map { position, note in
            "\(note.deaths) \(note.isGrowing ? "growing" : "-") \(position.partition.topic) \(position.partition.partition) "
                + "\(position.offset)\n"
        }.joined()
    }

    /// A process starts: one that was growing at its end counts.
    ///
    /// - Returns: whether one was.
    mutating func start() -> Bool {
        let growing = notes.filter { $0.value.isGrowing }
        for (position, note) in growing { notes[position] = Note(deaths: note.deaths + 1) }
        return !growing.isEmpty
    }

    /// A process ends in order. What is held stays so; nothing else says anything about the next start.
    mutating func end() {
        notes = notes.filter { $0.value.deaths >= Self.untilHeld }.mapValues { Note(deaths: $0.deaths) }
    }

    /// The process takes more memory while it waits here.
    ///
    /// - Parameter deaths: how many have ended at this position at least.
    mutating func grew(at position: RecordPosition, deaths: Int = 0) {
        notes[position] = Note(deaths: max(deaths, notes[position]?.deaths ?? 0), isGrowing: true)
    }

    /// What a partition was waited for has arrived.
    mutating func arrived(in partition: TopicPartition) {
        for (position, note) in notes where position.partition == partition && note.isGrowing {
            notes[position] = note.deaths > 0 ? Note(deaths: note.deaths) : nil
        }
    }

    /// Everything of a partition below an offset has been read.
    mutating func passed(_ partition: TopicPartition, below offset: Int64) {
        notes = notes.filter { $0.key.partition != partition || $0.key.offset >= offset }
    }

    func deaths(at position: RecordPosition) -> Int { notes[position]?.deaths ?? 0 }

    /// The most deaths at a position of a partition, at or after an offset.
    func deaths(in partition: TopicPartition, from offset: Int64) -> Int {
        notes.filter { $0.key.partition == partition && $0.key.offset >= offset }.map(\.value.deaths).max() ?? 0
    }
}
