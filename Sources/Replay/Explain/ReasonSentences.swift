import Pipeline

/// Why somebody was not notified, for a support engineer: the label, which can be looked up and counted,
/// and what it means.
extension SuppressionReason {
    func sentence(of source: SourceKind) -> String {
        let meaning =
            switch self {
            case .notATransition: "the status was the same before"
            case .noSubscriber: "nobody had subscribed to its audience"
            case .staleToken: "no device of its audience was seen for subscriptions.max-age"
            case .noOrderIDs: "the list is empty"
            case .duplicate:
                switch source {
                case .orders: "the order has had an event with this identity"
                case .requests: "a request with this id came in the 24 h before"
                }
            case .duplicateOtherContent: "a request with this id came in the 24 h before, with another content"
            case .scheduledHere: "with schedule=on the pipeline sends it by the clock itself"
            case .expired: "it expired before its transaction began"
            }
        return "\(label), \(meaning)"
    }
}

extension TimerDrop {
    package var sentence: String {
        let meaning =
            switch self {
            case .tooLate: "the pipeline came to it later than schedule.max-lateness"
            case .alreadyStarted: "their time was over when the event that named the slot came"
            case .superseded: "a later reminder of the order was due by then"
            case .picked: "the order was past picking"
            case .ended: "the order was cancelled, had failed or was done"
            case .noSlot: "the order has no time slot"
            case .noSubscriber: "nobody had subscribed to the place"
            case .staleToken: "no device of the place was seen for subscriptions.max-age"
            case .forgotten: "they were of orders that were forgotten: their partition exceeded state.max-bytes"
            }
        return "\(label), \(meaning)"
    }
}
