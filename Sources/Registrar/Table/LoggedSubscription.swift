import Notifications

/// A record of `notifications.subscriptions` as the registrar reads it, whoever wrote it.
struct LoggedSubscription: Sendable {
    /// Larger values cannot be written again: many of them wait at a time, and no subscription needs as much.
    static let largest = 8_192

    var partition: Int32
    var offset: Int64
    var key: SubscriptionKey
    /// Nil: a tombstone.
    var entry: SubscriptionEntry?
    /// See ``SubscriptionRecord/commandHeader``; nil: somebody else has written it.
    var command: Int64?
    var mark: BurialMark?
    /// What somebody else has written, to write it again.
    var value: [UInt8]?
    var since: [UInt8]?
    var time: WallTime?

    /// Whether it can be written again. What is no subscription has no effect anywhere.
    var isReadable: Bool { entry == nil || value != nil }
}
