import JSONReader
import Notifications

/// The reason in an answer of APNs.
struct APNsAnswer {
    /// How long Apple asks to wait after a fault of the server.
    static let waitAfterFault: Int64 = 900_000

    private var reason: String?
    /// Of 410: when APNs knew that the token was no longer valid.
    private var timestamp: WallTime?

    init(_ body: JSONValue?) {
        reason = ProviderCode.text(body?.member("reason")?.string)
        timestamp = body?.member("timestamp")?.time
    }

    func verdict(_ answer: ProviderAnswer, after: Int64?) -> Verdict {
        let reason = reason ?? ProviderCode.http(answer.status)
        switch answer.status {
        case 200:
            return .accepted(providerID: answer.header("apns-id").flatMap { ProviderName.text($0.utf8) })
        case 400:
            // BadDeviceToken is also what a token of the other environment gives: it never deletes one.
            return reason == "IdleTimeout"
                ? .retry(reason: reason, counts: true, after: after) : .refused(reason: reason)
        case 403:
            switch reason {
            case "ExpiredProviderToken": return .refreshCredential(reason: reason)
            // The key is not that of the connection; the next one has a new connection.
            case "UnrelatedKeyIdInToken": return .retry(reason: reason, counts: true, after: after)
            default: return .pauseCredential(reason: reason)
            }
        case 410:
            guard reason == "Unregistered" || reason == "ExpiredToken" else { return .refused(reason: reason) }
            guard let timestamp, timestamp >= .epoch else { return .deadDevice(reason: reason, .now) }
            return .deadDevice(reason: reason, .at(timestamp))
        case 404, 405, 406, 411...417, 421...428, 430...499:
            return .refused(reason: reason)
        case 429:
            // TooManyRequests is about one device. TooManyProviderTokenUpdates: the token is kept, and sent again.
            return .retry(reason: reason, counts: true, after: after)
        case 500...:
            return .retry(reason: reason, counts: true, after: after, advised: Self.waitAfterFault)
        default:
            // What is between us and APNs: 407, 408, a redirect.
            return .retry(reason: reason, counts: true, after: after)
        }
    }
}
