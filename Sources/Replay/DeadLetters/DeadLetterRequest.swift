/// Which dead letters are to be put back.
package struct DeadLetterRequest: Sendable {
    /// When the dead letters were written.
    package var from: WallTime?
    package var to: WallTime?
    /// Labels of ``DeadLetter/Code``; empty: all.
    package var codes: Set<String> = []
    /// Partitions of the dead-letter topic; nil: all.
    package var partitions: Set<Int32>?
    /// Events before this time are skipped.
    package var oldest = WallTime.distantPast
    /// Events that are older than this when they are about to be written are skipped, in milliseconds; nil: no limit.
    package var maxAge: Int64?
    /// Include events whose order has newer events.
    package var includesLate = false
    /// Values repaired by a person, by the place of the dead letter; nil: none were given, and the rules decide.
    package var repaired: [Coordinates: [UInt8]]?
    /// Digest of everything that affects the selection: a resumed run must have the same one.
    package var digest = ""

    package init() {}

    /// The clock when the run began; the same for a resumed run. Nil without ``maxAge``.
    var planned: WallTime? { maxAge.map { oldest + $0 } }
}

/// Position of a run in one partition of the dead letters, and what it needs to resume: committed with the events it
/// wrote.
struct DeadLetterCursor: Equatable {
    private static let version = "dead-letters/1"

    /// The dead letters before this offset are done.
    var next: Int64
    var range: Range<Int64>
    var oldest: WallTime
    /// The number of confirmed events, in all partitions.
    var confirmed: Int
    var digest: String
    /// Outcome for this partition.
    var tally: DeadLetterTally

    init(
        next: Int64, range: Range<Int64>, oldest: WallTime, confirmed: Int, digest: String,
        tally: DeadLetterTally = DeadLetterTally()
    ) {
        (self.next, self.range, self.oldest, self.confirmed, self.digest) = (next, range, oldest, confirmed, digest)
        self.tally = tally
    }

    var isDone: Bool { next >= range.upperBound }

    var position: RedrivePosition {
        RedrivePosition(
            offset: next,
            text: "\(Self.version) \(range.lowerBound) \(range.upperBound) \(oldest.milliseconds) \(confirmed) "
                + "\(digest) \(tally.text)")
    }

    /// - Throws: ``ReplayRefusal`` for a cursor that this version did not write.
    init(_ position: RedrivePosition, id: String) throws(ReplayRefusal) {
        let words = position.text.split(separator: " ").map(String.init)
        guard words.count == 7, words[0] == Self.version, let start = Int64(words[1]),
            let end = Int64(words[2]), start <= end, let oldest = Int64(words[3]), let confirmed = Int(words[4]),
            let tally = DeadLetterTally(words[6])
        else { throw ReplayRefusal("--id \(id) is that of another command; choose another one") }
        self.init(
            next: position.offset, range: start..<end, oldest: WallTime(milliseconds: oldest), confirmed: confirmed,
            digest: words[5], tally: tally)
    }
}
