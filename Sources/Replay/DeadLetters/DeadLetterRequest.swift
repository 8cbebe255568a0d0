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
    /// The id of the run, and whether it is new, so that nothing was put back under it.
    package var id = ""
    package var isNewID = true

    package init() {}

    /// The clock when the run began. Nil without ``maxAge``.
    var planned: WallTime? { maxAge.map { oldest + $0 } }

    /// Why a selected event must not be put back now; nil if it may be.
    func reason(against candidate: DeadLetterCandidate, _ index: PutBackIndex, now: WallTime) -> DeadLetterLeft? {
        if index.isPutBack(candidate) { return .putBack }
        if let maxAge, candidate.time < now - maxAge { return .tooOld }
        if candidate.isExpired(at: now) { return .expired }
        return !includesLate && index.isLate(candidate) ? .late : nil
    }
}
