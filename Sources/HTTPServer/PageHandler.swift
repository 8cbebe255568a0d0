/// Pages that a person or a monitoring system requests: GET and HEAD.
struct PageHandler: HTTPHandler {
    let page: HTTPServer.Pages

    func admit(_ head: IncomingRequest) -> HTTPAdmission { .read(atMost: 1024, answer: answer) }

    private func answer(_ request: IncomingRequest) -> HTTPReply {
        guard request.method == "GET" || request.method == "HEAD" else {
            return .now(
                HTTPResponse(
                    .methodNotAllowed, headers: [("Allow", "GET, HEAD")],
                    body: "\(request.method) is not allowed here\n"))
        }
        guard let path = RequestTarget(request.target).map({ "/" + $0.path.joined(separator: "/") }) else {
            return .now(HTTPResponse(.badRequest, body: "the path cannot be read\n"))
        }
        return .now(page(path) ?? HTTPResponse(.notFound, body: "there is no page \(path)\n"))
    }

    func response(to refusal: HTTPRefusal) -> HTTPResponse {
        HTTPResponse(
            refusal.status, headers: refusal.isPassing ? [("Retry-After", "1")] : [], body: refusal.sentence + "\n")
    }
}
