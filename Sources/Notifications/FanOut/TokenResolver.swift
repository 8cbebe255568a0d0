/// Finds the devices of audiences, for a host that keeps its own tokens instead of notifications.subscriptions.
///
/// Called once per batch, on a worker's thread, from several workers at the same time; synchronous. A thrown error
/// aborts the transaction, and the batch is retried with backoff, as when a broker is unreachable.
public protocol TokenResolver: Sendable {
    /// Appends the devices of each audience to `devices`, in ascending order of the audience's index.
    ///
    /// Audiences that do not fit into the transaction are queried again in the next one.
    func resolve(_ audiences: borrowing AudienceList, into devices: inout DeviceList) throws
}

/// Where the devices come from.
package enum RecipientSource: Sendable {
    case table(SubscriptionTable)
    case resolver(any TokenResolver)
}
