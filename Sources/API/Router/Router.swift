import HTTPServer

/// Finds the endpoint of a request by its head alone.
package struct Router: Sendable {
    package let endpoints: [Endpoint]

    package init(_ endpoints: [Endpoint]) {
        self.endpoints = endpoints
    }

    struct Match {
        var endpoint: Endpoint
        var pathValues: [String]
        var query: [RequestTarget.Parameter]
    }

    func find(_ head: IncomingRequest) throws(Problem) -> Match {
        guard let target = RequestTarget(head.target) else {
            throw Problem(
                .badPath,
                "the path or the query cannot be read; allowed are UTF-8 and no control characters, percent-encoded once"
            )
        }
        let method = head.method == "HEAD" ? "GET" : head.method
        var others: [APIOperation.Method] = []
        for endpoint in endpoints {
            guard let values = endpoint.operation.path.match(target.path) else { continue }
            guard endpoint.operation.method.rawValue == method else {
                others.append(endpoint.operation.method)
                continue
            }
            return Match(endpoint: endpoint, pathValues: values, query: target.query)
        }
        guard !others.isEmpty else { throw Problem(.notFound, "there is no such path; /openapi.json has all of them") }
        let allowed = others.flatMap { $0 == .get ? ["GET", "HEAD"] : [$0.rawValue] }.sorted().joined(separator: ", ")
        var problem = Problem(.methodNotAllowed, "the method is not allowed here; allowed are \(allowed)")
        problem.headers = [("Allow", allowed)]
        throw problem
    }

    /// Whether the query and the headers are what the operation takes. Who may not use it does not hear of it.
    func check(_ match: Match, _ head: IncomingRequest) throws(Problem) {
        try check(match.query, match.endpoint.operation)
        try check(head, match.endpoint.operation)
    }

    private func check(_ query: [RequestTarget.Parameter], _ operation: APIOperation) throws(Problem) {
        let allowed = operation.query.map(\.name)
        var seen: Set<String> = []
        for parameter in query where !allowed.contains(parameter.name) || !seen.insert(parameter.name).inserted {
            let names = allowed.isEmpty ? "none" : allowed.joined(separator: ", ")
            throw Problem(
                .badPath,
                "the query has a parameter that is not known or is there twice; allowed are \(names), once each")
        }
    }

    private func check(_ head: IncomingRequest, _ operation: APIOperation) throws(Problem) {
        let accepted = head.headers.filter { $0.name == "accept" }.map(\.value)
        let type = operation.responses.first?.type ?? "application/json"
        guard MediaType.isAcceptable(type, accepted) else {
            throw Problem(.notAcceptable, "the answer is \(type), which Accept does not have")
        }
        guard let body = operation.body else { return }
        guard head.headers.allSatisfy({ $0.name != "content-encoding" || $0.value == "identity" }) else {
            throw Problem(.mediaType, "the body is compressed; allowed is a body without Content-Encoding")
        }
        guard MediaType.isReadable(head.header("content-type"), as: body.types) else {
            let types = body.types.joined(separator: ", ")
            var problem = Problem(.mediaType, "the Content-Type is not one that is read here; allowed are \(types)")
            problem.headers = [("Accept", types)]
            throw problem
        }
    }
}
