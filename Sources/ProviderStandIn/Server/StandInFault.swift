import Digests

/// What a provider's stand-in does to the requests for a device.
package enum StandInFault: Sendable, Equatable {
    /// The token is of no device any more: FCM's UNREGISTERED; APNs's Unregistered with this timestamp, in ms.
    case unregistered(at: Int64 = 0)
    /// FCM's INVALID_ARGUMENT on `message.token`, APNs's BadDeviceToken.
    case invalidToken
    /// FCM's SENDER_ID_MISMATCH, APNs's DeviceTokenNotForTopic.
    case mismatch
    /// FCM's THIRD_PARTY_AUTH_ERROR; APNs's Forbidden.
    case thirdPartyAuth
    /// 429: FCM's QUOTA_EXCEEDED, APNs's TooManyRequests.
    case quota(RetryAfter?)
    /// 503: FCM's UNAVAILABLE, APNs's ServiceUnavailable.
    case unavailable(RetryAfter?)
    /// 500: FCM's INTERNAL, APNs's InternalServerError.
    case internalError
    /// 502 with a page of HTML, as a proxy before FCM gives it.
    case htmlError
    /// 400 INVALID_ARGUMENT without a field, 400 PayloadEmpty: the message is at fault.
    case badMessage
    /// This status and reason: APNs's own words, or FCM's error code.
    case other(status: Int, reason: String)
    /// Accepted, and answered after this time.
    case slow(Duration)
    /// Accepted, and never answered.
    case hang
    /// The connection is cut off before the answer.
    case reset

    package enum RetryAfter: Sendable, Equatable {
        case seconds(Int)
        /// An HTTP date, so many seconds from now.
        case date(secondsFromNow: Int)

        var headerValue: String {
            switch self {
            case .seconds(let seconds): "\(seconds)"
            case .date(let seconds): HTTPDate.text(UnixTime.now + Int64(seconds))
            }
        }
    }
}

/// The fault that a request meets, by the SHA-256 of its device's token, in hex.
package typealias StandInFaults = @Sendable (_ device: String) -> StandInFault?

/// The faults by token, each for a number of requests; and those that all other tokens meet.
struct FaultTable {
    private var faults: [String: (fault: StandInFault, left: Int)] = [:]
    var others: StandInFaults?

    mutating func set(_ fault: StandInFault?, for token: String, times: Int) {
        faults[token] = fault.map { ($0, times) }
    }

    mutating func next(for token: String) -> StandInFault? {
        guard !faults.isEmpty, let (fault, left) = faults[token] else { return others?(SHA256.hex(of: token)) }
        faults[token] = left > 1 ? (fault, left - 1) : nil
        return fault
    }
}
