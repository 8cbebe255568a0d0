import HTTPServer
import KafkaClient
import Notifications

/// A request that was routed, and whose sender may make it.
package struct Call: Sendable {
    /// nil where it was not routed.
    package var operation: APIOperation?
    package var request: IncomingRequest
    /// What the log calls it by.
    package var id: String
    /// In the order of the path.
    package var pathValues: [String]
    package var query: [RequestTarget.Parameter]
    /// nil where the operation is for everybody, or a user or a device calls.
    package var key: KeyEntry?
    /// An app's user, by a token of the shop's.
    package var user: UserToken?
    /// A device, by its credential.
    package var credential: DeviceCredential?
    /// From which address the client came; empty where nobody knows.
    package var client = ""
    /// Of every answer: the name of the request, and what the key has left.
    package var headers: [(name: String, value: String)]

    /// One that is not routed yet.
    init(_ request: IncomingRequest, id: String) {
        (self.request, self.id, pathValues, query) = (request, id, [], [])
        headers = [("X-Request-Id", id)]
    }

    package func response(
        _ status: HTTPResponse.Status, _ document: Document, _ more: [(name: String, value: String)] = []
    ) -> HTTPResponse {
        response(status, json: document.json, more)
    }

    package func response(
        _ status: HTTPResponse.Status, json: String, _ more: [(name: String, value: String)] = []
    ) -> HTTPResponse {
        HTTPResponse(
            status, contentType: "application/json", headers: headers + more + [("Cache-Control", "no-store")],
            body: json)
    }

    /// Without a body.
    package func response(_ status: HTTPResponse.Status) -> HTTPResponse {
        HTTPResponse(status, headers: headers + [("Cache-Control", "no-store")], body: "")
    }

    /// A parameter of the query; nil if it is not given.
    func value(_ name: String) -> String? { query.first { $0.name == name }?.value }

    /// Of every record that is written for it: who asked, and the trace that it belongs to.
    var recordHeaders: [RecordHeader] {
        var headers = key.map { [RecordHeader("by", Array("key:\($0.id)".utf8))] } ?? []
        if let trace = request.header("traceparent").map({ Array($0.utf8) }), trace.withUnsafeBytes(Traceparent.isValid)
        {
            headers.append(RecordHeader("traceparent", trace))
        }
        return headers
    }

    package func response(to problem: Problem) -> HTTPResponse {
        var response = problem.response(requestID: id)
        response.headers += headers
        return response
    }
}

/// An operation and what does it.
package struct Endpoint: Sendable {
    package enum Reply: Sendable {
        case now(HTTPResponse)
        /// `begin` gets what takes the answer, on any thread; the problem is the answer where none comes in this time.
        case later(
            within: Duration, otherwise: Problem, begin: @Sendable (@escaping @Sendable (HTTPResponse) -> Void) -> Void)
    }

    package var operation: APIOperation
    package var answer: @Sendable (Call) throws(Problem) -> Reply

    package init(_ operation: APIOperation, _ answer: @escaping @Sendable (Call) throws(Problem) -> Reply) {
        self.operation = operation
        self.answer = answer
    }
}
