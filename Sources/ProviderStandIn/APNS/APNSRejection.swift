/// A rejection in Apple's form (push-rules §2.5).
struct APNSRejection {
    var status: Int
    var reason: String
    /// Milliseconds; only with 410.
    var timestamp: Int64?
    var retryAfter: StandInFault.RetryAfter?

    init(_ status: Int, _ reason: String) {
        self.status = status
        self.reason = reason
    }

    /// nil for a fault that accepts the notification.
    init?(_ fault: StandInFault) {
        switch fault {
        case .unregistered(let time):
            self.init(410, "Unregistered")
            timestamp = time
        case .invalidToken: self.init(400, "BadDeviceToken")
        case .mismatch: self.init(400, "DeviceTokenNotForTopic")
        case .thirdPartyAuth: self.init(403, "Forbidden")
        case .quota(let after):
            self.init(429, "TooManyRequests")
            retryAfter = after
        case .unavailable(let after):
            self.init(503, "ServiceUnavailable")
            retryAfter = after
        case .internalError, .htmlError: self.init(500, "InternalServerError")
        case .badMessage: self.init(400, "PayloadEmpty")
        case .other(let status, let reason): self.init(status, reason)
        case .slow, .hang, .reset: return nil
        }
    }

    var body: String {
        guard let timestamp else { return #"{"reason":"\#(reason)"}"# }
        return #"{"reason":"\#(reason)","timestamp":\#(timestamp)}"#
    }
}
