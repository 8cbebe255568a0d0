import HTTPClient

/// Why a request has no answer, as an outcome's reason.
package enum NoAnswer: String, CaseIterable, Sendable {
    case name = "no_answer:dns"
    case refused = "no_answer:refused"
    case unreachable = "no_answer:unreachable"
    case proxy = "no_answer:proxy"
    case certificateName = "no_answer:tls_name"
    case certificateTime = "no_answer:tls_expired"
    case certificateAuthority = "no_answer:tls_authority"
    case tls = "no_answer:tls"
    case onlyHTTP1 = "no_answer:http1_only"
    case timeout = "no_answer:timeout"
    case reset = "no_answer:reset"
    /// The server ended the stream, or the connection with an error code of HTTP/2.
    case stream = "no_answer:stream_reset"
    case tooLong = "no_answer:too_long"
    case other = "no_answer"

    package init(_ failure: HTTPFailure) {
        self =
            switch failure {
            case .nameNotResolved: .name
            case .connectionRefused: .refused
            case .connectFailed: .unreachable
            case .proxyFailed: .proxy
            case .certificateRefused(.name, _): .certificateName
            case .certificateRefused(.time, _): .certificateTime
            case .certificateRefused(.authority, _): .certificateAuthority
            case .certificateRefused(.other, _), .tlsFailed: .tls
            case .notHTTP2: .onlyHTTP1
            case .timedOut: .timeout
            case .connectionLost: .reset
            case .http2Failed: .stream
            case .answerTooLarge: .tooLong
            case .tooLate, .cancelled, .invalidRequest, .other: .other
            }
    }
}
