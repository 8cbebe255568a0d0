@testable import HTTPServer

/// Answers a request with what it has; tests replace the parts.
struct EchoHandler: HTTPHandler {
    var reply: @Sendable (IncomingRequest) -> HTTPReply = { request in
        let body = String(decoding: request.body, as: UTF8.self)
        return .now(HTTPResponse(headers: [("X-Method", request.method)], body: body))
    }

    func admit(_ head: IncomingRequest) -> HTTPAdmission {
        head.header("authorization") == "none"
            ? .refuse(HTTPResponse(.notFound, body: "")) : .read(atMost: 1000, answer: reply)
    }

    func response(to refusal: HTTPRefusal) -> HTTPResponse {
        HTTPResponse(
            refusal.status, headers: refusal.isPassing ? [("Retry-After", "1")] : [], body: refusal.sentence)
    }
}
