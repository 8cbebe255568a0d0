/// The answer to a request.
package struct HTTPResponse: Sendable {
    package var status: Status
    package var contentType: String
    /// Beside the type and those that the server writes itself.
    package var headers: [(name: String, value: String)]
    package var body: String

    package init(
        _ status: Status = .ok, contentType: String = "text/plain; charset=utf-8",
        headers: [(name: String, value: String)] = [], body: String
    ) {
        self.status = status
        self.contentType = contentType
        self.headers = headers
        self.body = body
    }

    package enum Status: UInt32, Sendable {
        case ok = 200
        case created = 201
        case accepted = 202
        case noContent = 204
        case badRequest = 400
        case unauthorized = 401
        case forbidden = 403
        case notFound = 404
        case methodNotAllowed = 405
        case notAcceptable = 406
        case conflict = 409
        case gone = 410
        case preconditionFailed = 412
        case contentTooLarge = 413
        case uriTooLong = 414
        case unsupportedMediaType = 415
        case unprocessableContent = 422
        case tooManyRequests = 429
        case headersTooLarge = 431
        case internalServerError = 500
        case serviceUnavailable = 503
    }
}
