/// The response of a page.
package struct HTTPResponse: Sendable {
    package var status: Status
    package var contentType: String
    package var body: String

    package init(_ status: Status = .ok, contentType: String = "text/plain; charset=utf-8", body: String) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }

    package enum Status: UInt32, Sendable {
        case ok = 200
        case notFound = 404
        case methodNotAllowed = 405
        case serviceUnavailable = 503
    }
}
