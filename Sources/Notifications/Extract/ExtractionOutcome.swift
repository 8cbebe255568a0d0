/// The outcome of one record.
public enum ExtractionOutcome: Sendable {
    /// This many notifications were appended to the batch; at least one.
    case notifications(Int)
    /// The event notifies nobody, for this reason.
    case suppressed(SuppressionReason)
    case deadLetter(DeadLetter)
}

/// Why nobody was notified of an event.
public enum SuppressionReason: UInt8, CaseIterable, Sendable {
    case notATransition, noSubscriber, staleToken, noOrderIDs, duplicate, scheduledHere
    /// It expired before it could be sent (docs/rules.md §8.3).
    case expired
    /// As ``duplicate``, and its value differs from that of the request before (docs/rules.md §8.10).
    case duplicateOtherContent

    /// The label of this reason's counter.
    public var label: String {
        switch self {
        case .notATransition: "not_a_transition"
        case .noSubscriber: "no_subscriber"
        case .staleToken: "stale_token"
        case .noOrderIDs: "no_order_ids"
        case .duplicate: "duplicate"
        case .scheduledHere: "scheduled_here"
        case .expired: "expired"
        case .duplicateOtherContent: "duplicate_other_content"
        }
    }
}
