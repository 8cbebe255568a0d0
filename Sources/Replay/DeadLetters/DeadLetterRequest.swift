import Pipeline

/// Which dead letters are to be put back.
package struct DeadLetterRequest: Sendable {
    /// When they were written, in milliseconds since 1970.
    package var from: Int64?
    package var to: Int64?
    /// Labels of ``DeadLetter/Code``; empty: all.
    package var codes: Set<String> = []
    /// Of the topic of dead letters; nil: all.
    package var partitions: Set<Int32>?
    /// What happened earlier is left out, in milliseconds since 1970.
    package var oldest: Int64 = .min
    /// What is older when its turn comes stays, in milliseconds; nil: no age is too much.
    package var maxAge: Int64?
    /// Those too whose order has had newer events.
    package var includesLate = false
    /// Values that a person has mended, by where the dead letters stand; nil: none was given, and the rules decide.
    package var repaired: [Coordinates: [UInt8]]?
    /// More is refused.
    package var maxEvents = 10_000
    /// Of everything that changes what is selected, to know whether a run that goes on was asked for the same.
    package var digest = ""

    package init() {}
}

/// Where a run stands in one partition of the dead letters, and what it takes to go on: committed with what was put back.
struct DeadLetterCursor: Equatable {
    private static let version = "dead-letters/1"

    /// The dead letters before this offset are done.
    var next: Int64
    var range: Range<Int64>
    var oldest: Int64
    /// How many events were confirmed, in all partitions.
    var confirmed: Int
    var digest: String
    /// What became of this partition's. Empty: none was reached, or an older version wrote the cursor.
    var tally: DeadLetterTally

    init(
        next: Int64, range: Range<Int64>, oldest: Int64, confirmed: Int, digest: String,
        tally: DeadLetterTally = DeadLetterTally()
    ) {
        (self.next, self.range, self.oldest, self.confirmed, self.digest) = (next, range, oldest, confirmed, digest)
        self.tally = tally
    }

    var isDone: Bool { next >= range.upperBound }

    var position: RedrivePosition {
        RedrivePosition(
            offset: next,
            text: "\(Self.version) \(range.lowerBound) \(range.upperBound) \(oldest) \(confirmed) \(digest)"
                + (tally.isEmpty ? "" : " \(tally.text)"))
    }

    /// - Throws: ``ReplayRefusal`` for what this version has not written.
    init(_ position: RedrivePosition, id: String) throws(ReplayRefusal) {
        let words = position.text.split(separator: " ").map(String.init)
        guard (6...7).contains(words.count), words[0] == Self.version, let start = Int64(words[1]),
            let end = Int64(words[2]), start <= end, let oldest = Int64(words[3]), let confirmed = Int(words[4]),
            let tally = words.count == 7 ? DeadLetterTally(words[6]) : DeadLetterTally()
        else { throw ReplayRefusal("--id \(id) is that of another command; choose another one") }
        self.init(
            next: position.offset, range: start..<end, oldest: oldest, confirmed: confirmed, digest: words[5],
            tally: tally)
    }
}
