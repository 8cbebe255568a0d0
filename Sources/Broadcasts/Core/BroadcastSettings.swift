import Notifications

/// What is decided about broadcasts besides the code.
package struct BroadcastSettings: Sendable {
    /// The name of `topic.broadcasts`.
    package var topic: String
    package var subscriptionsTopic: String
    package var rendering: RenderSettings
    /// A device that was last seen so long before a broadcast gets nothing, in milliseconds.
    package var maxAge: Int64
    /// The most broadcasts that a joiner gets.
    package var mostLate: Int
    /// The most dispatch records of a transaction.
    package var mostRecords: Int
}
