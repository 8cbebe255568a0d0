import HTTPServer

/// A request that was routed, and whose sender may make it.
package struct Call: Sendable {
    package var operation: APIOperation
    package var request: IncomingRequest
    /// In the order of the path.
    package var pathValues: [String]
    package var query: [RequestTarget.Parameter]
    /// nil where the operation is for everybody.
    package var key: KeyEntry?
    /// Of every answer: the name of the request, and what the key has left.
    package var headers: [(name: String, value: String)]

    package func response(_ status: HTTPResponse.Status, _ document: Document) -> HTTPResponse {
        HTTPResponse(
            status, contentType: "application/json", headers: headers + [("Cache-Control", "no-store")],
            body: document.json)
    }
}

/// An operation and what does it.
package struct Endpoint: Sendable {
    package var operation: APIOperation
    package var answer: @Sendable (Call) throws(Problem) -> HTTPReply

    package init(_ operation: APIOperation, _ answer: @escaping @Sendable (Call) throws(Problem) -> HTTPReply) {
        self.operation = operation
        self.answer = answer
    }
}
