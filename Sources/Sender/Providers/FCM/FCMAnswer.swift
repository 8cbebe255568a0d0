import JSONReader

/// The codes in an answer of FCM's HTTP v1 API.
struct FCMAnswer {
    /// How long to wait after 429, if it does not say: FCM's documents ask for a minute.
    static let defaultWait: Int64 = 60_000

    private var name: String?
    /// The code of the element `FcmError`.
    private var errorCode: String?
    /// Google's general code.
    private var status: String?
    /// Whether the fault is the device's token.
    private var isTokenFault = false

    init(_ body: JSONValue?) {
        guard let body else { return }
        name = body.member("name")?.string.flatMap { ProviderName.text($0.bytes) }
        guard let error = body.member("error") else { return }
        status = ProviderCode.text(error.member("status")?.string)
        if let message = error.member("message")?.string {
            isTokenFault = message == "The registration token is not a valid FCM registration token"
        }
        var details = error.member("details")?.elements
        while let detail = details?.next() {
            guard let type = detail.member("@type")?.string else { continue }
            if type == "type.googleapis.com/google.firebase.fcm.v1.FcmError" {
                errorCode = ProviderCode.text(detail.member("errorCode")?.string)
            } else if type == "type.googleapis.com/google.rpc.BadRequest" {
                var violations = detail.member("fieldViolations")?.elements
                while let violation = violations?.next() {
                    if let field = violation.member("field")?.string, field == "message.token" { isTokenFault = true }
                }
            }
        }
    }

    /// The code of `FcmError`, otherwise the general one, otherwise the status.
    private func reason(_ status: Int) -> String { errorCode ?? self.status ?? ProviderCode.http(status) }

    func verdict(status: Int, after: Int64?) -> Verdict {
        let reason = reason(status)
        // There is no guidance for it, so it is not repeated.
        if errorCode == "UNSPECIFIED_ERROR" { return .refused(reason: reason) }
        switch status {
        case 200:
            return .accepted(providerID: name)
        case 400:
            return reason == "INVALID_ARGUMENT" && isTokenFault
                ? .deadDevice(reason: reason, .now) : .refused(reason: reason)
        case 401:
            return errorCode == "THIRD_PARTY_AUTH_ERROR"
                ? .refused(reason: reason) : .refreshCredential(reason: reason)
        case 403:
            // A wrong service account gives this for every token: it never deletes one.
            return errorCode == "SENDER_ID_MISMATCH" ? .refused(reason: reason) : .pauseCredential(reason: reason)
        case 404:
            guard let errorCode else { return .pauseCredential(reason: reason) }
            return errorCode == "UNREGISTERED" ? .deadDevice(reason: reason, .now) : .refused(reason: reason)
        case 429:
            return .slowDown(reason: reason, after: after, advised: after == nil ? Self.defaultWait : 0)
        case 405, 406, 410...417, 421...428, 430...499:
            return .refused(reason: reason)
        default:
            // 5xx, and what is between us and FCM: 407, 408, a redirect.
            return .retry(reason: reason, counts: true, after: after)
        }
    }
}
