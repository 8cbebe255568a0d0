import Notifications

extension FanOut {
    /// The tokens of a notification's recipients, in their order.
    package mutating func tokens(of notification: Int, in batch: borrowing EventBatch) -> [String] {
        let recipients = recipients(of: notification, in: batch)
        var tokens: [String] = []
        for position in recipients.devices {
            tokens.append(String(decoding: recipient(position).token, as: UTF8.self))
        }
        return tokens
    }
}

/// A fan-out over a table that holds these subscriptions, with its first snapshot taken.
package func makeFanOut(
    _ subscriptions: [Subscription], rule: any AudienceRule = OrderAudiences(),
    maxAge: Duration = .seconds(270 * 86_400),
    maxDevices: Int = Int.max - 1, command: Int64? = nil
) throws -> FanOut {
    let table = SubscriptionTable.inMemory()
    try table.apply(subscriptions.map { TableRecord($0, command: command) })
    var fanOut = try FanOut(audienceRule: rule, recipients: .table(table), maxAge: maxAge, maxDevices: maxDevices)
    try fanOut.beginTransaction()
    return fanOut
}
