import Synchronization

@testable import HTTPServer

/// Answers a request with what it has; tests replace the parts.
struct EchoHandler: HTTPHandler {
    var reply: @Sendable (IncomingRequest) -> HTTPReply = { request in
        let body = String(decoding: request.body, as: UTF8.self)
        return .now(HTTPResponse(headers: [("X-Method", request.method)], body: body))
    }

    /// What the server has refused by itself, also what it could not read.
    let refusals = Refusals()

    final class Refusals: Sendable {
        let statuses = Mutex<[HTTPResponse.Status]>([])
    }

    func admit(_ head: IncomingRequest) -> HTTPAdmission {
        head.header("authorization") == "none"
            ? .refuse(HTTPResponse(.notFound, body: "")) : .read(atMost: 1000, answer: reply)
    }

    func response(to refusal: HTTPRefusal) -> HTTPResponse {
        refused(refusal.status)
        return HTTPResponse(
            refusal.status, headers: refusal.isPassing ? [("Retry-After", "1")] : [], body: refusal.sentence)
    }

    func refused(_ status: HTTPResponse.Status) { refusals.statuses.withLock { $0.append(status) } }
}
