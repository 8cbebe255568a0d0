/// Why a request has no answer.
///
/// `sent` says whether the server may have all of it: if not, it cannot have acted on it.
/// `detail` is libcurl's sentence; it has names of hosts, and nothing of paths, headers or bodies.
package enum HTTPFailure: Error, Sendable, Equatable {
    /// `HTTPClientConfiguration.timeout` or its `connectTimeout` has passed.
    case timedOut(sent: Bool)
    /// `HTTPRequest.sendBy` has passed before all of it was sent, or it was made too long ago: its stream, if it had one, was
    /// reset.
    case tooLate
    /// The connection ended before the answer did. The client does not send such a request again.
    case connectionLost(sent: Bool, detail: String)
    /// The host answers, and nothing listens at the port.
    case connectionRefused(detail: String)
    case connectFailed(detail: String)
    case nameNotResolved(detail: String)
    case certificateRefused(CertificateFault, detail: String)
    /// No TLS 1.2 or newer with this server.
    case tlsFailed(detail: String)
    /// The proxy could not be reached, or refuses the connection to the server.
    case proxyFailed(detail: String)
    /// The server ended the stream or the connection with this error code (RFC 9113 §7).
    case http2Failed(code: UInt32, detail: String)
    /// The server does not agree on HTTP/2, as one that speaks only HTTP/1.1.
    case notHTTP2
    /// The answer's head is longer than `HTTPClientConfiguration.maxHead`, or its body than `maxBody`.
    case answerTooLarge
    /// The caller's doing: `cancel` or `close`.
    case cancelled(sent: Bool)
    /// The address is not an `https` URL, or a header has a character that no header may have.
    case invalidRequest(detail: String)
    /// Another error of libcurl, by its number.
    case other(code: Int, sent: Bool, detail: String)

    /// Whether the server may have acted on the request: sending it again may be the second time.
    package var mayHaveArrived: Bool {
        switch self {
        case .timedOut(let sent), .connectionLost(let sent, _), .cancelled(let sent), .other(_, let sent, _): sent
        case .tooLate, .connectionRefused, .connectFailed, .nameNotResolved, .certificateRefused, .tlsFailed,
            .proxyFailed, .invalidRequest,
            .notHTTP2:
            false
        // A refused stream was not processed (RFC 9113 §8.7).
        case .http2Failed(let code, _): code != 7
        case .answerTooLarge: true
        }
    }
}

extension HTTPFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .timedOut(let sent): sent ? "no answer in time" : "not sent in time: no connection, or it takes no more"
        case .tooLate: "it could not be sent in time"
        case .connectionLost(_, let detail): "the connection was lost: \(detail)"
        case .connectionRefused(let detail): "nothing listens at the port: \(detail)"
        case .connectFailed(let detail): "no connection: \(detail)"
        case .nameNotResolved(let detail): "the host's name has no address: \(detail)"
        case .certificateRefused(let fault, let detail): "the server's certificate \(fault): \(detail)"
        case .tlsFailed(let detail): "TLS failed: \(detail)"
        case .proxyFailed(let detail): "the proxy: \(detail)"
        case .http2Failed(let code, let detail): "HTTP/2 error \(code): \(detail)"
        case .notHTTP2: "the server speaks only HTTP/1.1: it does not agree on HTTP/2"
        case .answerTooLarge: "the answer is too long"
        case .cancelled: "cancelled"
        case .invalidRequest(let detail): "not a request that can be sent: \(detail)"
        case .other(let code, _, let detail): "libcurl error \(code): \(detail)"
        }
    }
}
