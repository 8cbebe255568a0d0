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
    /// Values repaired by a person, by the coordinates of the dead letter; nil: none were given, and the rules decide.
    package var repaired: [Coordinates: [UInt8]]?
    /// The id of the run, and whether it is new, so that nothing was put back under it.
    package var id = ""
    package var isNewID = true

    package init() {}

    /// The clock when the run began. Nil without ``maxAge``.
    var planned: WallTime? { maxAge.map { oldest + $0 } }

    /// What is to be done with a selected event now.
    func verdict(
        on candidate: DeadLetterCandidate, _ index: PutBackIndex, now: WallTime
    ) -> ResendVerdict<DeadLetterLeft> {
        if index.isDone(candidate) { return .sent }
        if index.isPutBack(candidate) { return .leaveOut(.putBack) }
        if let maxAge, candidate.time < now - maxAge { return .leaveOut(.tooOld) }
        if candidate.isExpired(at: now) { return .leaveOut(.expired) }
        return !includesLate && index.isLate(candidate) ? .leaveOut(.late) : .send
    }
}
