/// What became of a request at a provider's stand-in.
package struct StandInRecord: Sendable, Equatable {
    /// SHA-256 of the device's token, in hex.
    package var tokenHash: String
    package var status: Int
    /// FCM's error code or APNs's reason; nil if the message was accepted.
    package var reason: String?
    /// APNs's `apns-id`, or the name that FCM gave the message.
    package var id: String?
    package var collapseID: String?
    /// FCM's `message.android.ttl`, or APNs's `apns-expiration`.
    package var lifetime: String?
    /// The request's body.
    package var body: [UInt8]
}

/// Is called on the server's thread.
package typealias StandInObserver = @Sendable (StandInRecord, StandInFault?) -> Void
