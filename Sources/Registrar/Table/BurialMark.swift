import Notifications

/// The header `dead` of a record by which subscriptions of a dead device are removed, or written again: `<evidence>/<offset>`.
struct BurialMark: Equatable, Sendable {
    static let header = SubscriptionRecord.deadHeader

    /// Since when the device is known to be dead.
    var evidence: WallTime
    /// The records of its key below this one were known to the registrar, in the same partition.
    var known: Int64

    init(evidence: WallTime, known: Int64) {
        (self.evidence, self.known) = (evidence, known)
    }

    /// Nil for a text that is none.
    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int64($0) }
        guard parts.count == 2, let evidence = parts[0], let known = parts[1], evidence >= 0, known >= 0 else {
            return nil
        }
        self.init(evidence: WallTime(milliseconds: evidence), known: known)
    }

    var text: String { "\(evidence.milliseconds)/\(known)" }
}
