import Digests

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

/// The records of a stand-in, and how many there are of each kind.
struct RecordKeeper {
    /// Records that are kept; further ones are counted only.
    let limit: Int
    /// Is told of each, with the fault that it met; of those that are reset, too.
    var observer: StandInObserver?
    private(set) var records: [StandInRecord] = []
    private(set) var accepted = 0
    private(set) var rejected: [String: Int] = [:]
    private(set) var acceptedByToken: [String: Int] = [:]

    /// One that was reset is not kept: its sender is to send it again.
    mutating func add(
        token: String, status: Int, reason: String?, id: String?, collapseID: String?, lifetime: String?,
        body: [UInt8], fault: StandInFault?
    ) {
        observer?(
            StandInRecord(
                tokenHash: SHA256.hex(of: token), status: status, reason: reason, id: id, collapseID: collapseID,
                lifetime: lifetime, body: body), fault)
        guard fault != .reset else { return }
        if let reason {
            rejected[reason, default: 0] += 1
        } else {
            accepted += 1
        }
        guard limit > 0 else { return }
        let hash = SHA256.hex(of: token)
        if reason == nil { acceptedByToken[hash, default: 0] += 1 }
        guard records.count < limit else { return }
        records.append(
            StandInRecord(
                tokenHash: hash, status: status, reason: reason, id: id, collapseID: collapseID, lifetime: lifetime,
                body: body))
    }
}

/// What a stand-in has accepted and refused so far.
package struct StandInOutcomes: Sendable {
    package var accepted: Int
    /// By FCM's error codes or APNs's reasons.
    package var rejected: [String: Int]
    /// How often a message for a device was accepted, by the hash of its token.
    package var acceptedByToken: [String: Int]
    package var records: [StandInRecord]

    init(_ keeper: RecordKeeper) {
        accepted = keeper.accepted
        rejected = keeper.rejected
        acceptedByToken = keeper.acceptedByToken
        records = keeper.records
    }
}
