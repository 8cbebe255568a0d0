/// A record of `notifications.deliveries`: one for each dispatch record. It never has the device's token.
package struct DeliveryRecord: Equatable, Sendable {
    package var outcome: DeliveryOutcome
    /// Where the dispatch record is.
    package var topic: String
    package var partition: Int32
    package var offset: Int64
    package var messageID: String
    /// The SHA-256 of the device's token: 64 hex digits.
    package var device: String
    package var platform: Platform
    /// Nil if nothing names it: an FCM record without the header `app`.
    package var app: String?
    /// Nil for FCM, which has only one.
    package var environment: PushEnvironment?
    /// The HTTP status of the last answer; nil without one.
    package var status: Int?
    /// The provider's code for the last failure, or the sender's own, such as `no_credential`; nil if it was accepted.
    package var reason: String?
    /// The provider's name of the message.
    package var providerID: String?
    /// Since when the token is known to be dead; only of a dead device.
    package var evidence: WallTime?
    /// The credential's name in the configuration; nil if there is none for it.
    package var credential: String?
    /// The requests that may have reached the provider.
    package var attempts: Int
    /// When the first and the last request were sent; nil if none was.
    package var firstSentAt: WallTime?
    package var lastSentAt: WallTime?

    package init(
        _ outcome: DeliveryOutcome, topic: String, partition: Int32, offset: Int64, messageID: String, device: String,
        platform: Platform, attempts: Int
    ) {
        self.outcome = outcome
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.messageID = messageID
        self.device = device
        self.platform = platform
        self.attempts = attempts
    }
}
