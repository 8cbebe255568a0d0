/// What answers requests. The server calls it on its only thread: it does not block.
package protocol HTTPHandler: Sendable {
    /// Decides by the head alone, before the client is asked for the body.
    func admit(_ head: IncomingRequest) -> HTTPAdmission

    /// The answer to what the server refuses by itself.
    func response(to refusal: HTTPRefusal) -> HTTPResponse

    /// libmicrohttpd has refused what it could not read as a request, such as a head without an end.
    func refused(_ status: HTTPResponse.Status)
}

extension HTTPHandler {
    package func refused(_ status: HTTPResponse.Status) {}
}

package enum HTTPAdmission: Sendable {
    /// A longer body is refused; else this answers the request when it is there in whole.
    case read(atMost: Int, answer: @Sendable (IncomingRequest) -> HTTPReply)
    case refuse(HTTPResponse)
}

package enum HTTPReply: Sendable {
    case now(HTTPResponse)
    /// Whoever has the exchange answers; after this time the server gives its other answer.
    case later(HTTPExchange, within: Duration)
}

/// Why the server does not ask the handler.
package enum HTTPRefusal: Sendable {
    /// The connection is closed behind it, since nobody knows where the next request begins.
    case malformed(String)
    case targetTooLong(atMost: Int)
    case headTooLarge(atMost: Int)
    case bodyTooLarge(atMost: Int)
    /// Too many bodies are being read.
    case overloaded
    case draining

    package var status: HTTPResponse.Status {
        switch self {
        case .malformed: .badRequest
        case .targetTooLong: .uriTooLong
        case .headTooLarge: .headersTooLarge
        case .bodyTooLarge: .contentTooLarge
        case .overloaded, .draining: .serviceUnavailable
        }
    }

    package var sentence: String {
        switch self {
        case .malformed(let sentence): sentence
        case .targetTooLong(let limit): "the path and query are too long; allowed are \(limit) bytes"
        case .headTooLarge(let limit): "the headers are too large; allowed are \(limit) bytes"
        case .bodyTooLarge(let limit): "the body is too large; allowed are \(limit) bytes"
        case .overloaded: "too many requests are being read"
        case .draining: "the server is about to end"
        }
    }

    /// Whether the same request may be accepted later, or by another process.
    package var isPassing: Bool { status == .serviceUnavailable }
}
