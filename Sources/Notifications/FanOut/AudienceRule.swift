/// Decides who a notification about an order is for.
///
/// A request names its audiences itself, and no rule is asked.
/// Called once per batch, on a worker's thread, from several workers at the same time; synchronous, so it must not
/// wait. Several audiences of one notification are a union: each device gets it once. A notification without an
/// audience goes to nobody. A thrown error aborts the transaction, and the batch is retried with backoff.
public protocol AudienceRule: Sendable {
    /// Appends the audiences of `notifications`, in ascending order of the notification.
    func addAudiences(
        of events: borrowing EventBatch, notifications: Range<Int>, to audiences: inout AudienceList
    ) throws
}

/// The default rule: the audiences that the settings name, by default everybody who subscribed to the order's place
/// (docs/rules.md §5.4).
public struct OrderAudiences: AudienceRule {
    public init() {}

    public func addAudiences(
        of events: borrowing EventBatch, notifications: Range<Int>, to audiences: inout AudienceList
    ) {
        for index in notifications {
            switch events.notifications[index].kind {
            case .order(let order) where order.audiences.isEmpty:
                audiences.append("place/", events.bytes(order.placeID), for: index)
            case .order(let order):
                for audience in order.audiences {
                    audiences.append("", events.bytes(events.audiences[Int(audience)]), for: index)
                }
            case .request: break
            }
        }
    }
}
