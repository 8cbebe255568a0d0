import HTTPServer

/// What is wrong with a request, in the form of RFC 9457, with everything that is wrong at once.
package struct Problem: Error, Sendable {
    /// A part of the body that is wrong.
    package struct Fault: Sendable {
        /// A JSON pointer, RFC 6901; empty: the whole body.
        package var pointer: String
        package var code: String
        package var detail: String

        package init(pointer: String, code: String, detail: String) {
            (self.pointer, self.code, self.detail) = (pointer, code, detail)
        }
    }

    package var code: ProblemCode
    /// One sentence, which says what is allowed.
    package var detail: String
    package var faults: [Fault] = []
    package var headers: [(name: String, value: String)] = []

    package init(_ code: ProblemCode, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// It repeats nothing of the path: some clients have their key in it.
    ///
    /// - Parameter requestID: what the log calls the request by.
    package func response(requestID: String) -> HTTPResponse {
        var members: [(name: String, value: Document)] = [
            ("type", .text(type)), ("title", .text(code.title)), ("status", .integer(Int64(code.status.rawValue))),
            ("detail", .text(detail)), ("code", .text(code.rawValue)),
        ]
        if !faults.isEmpty {
            let errors = faults.map { fault -> Document in
                ["pointer": .text(fault.pointer), "code": .text(fault.code), "detail": .text(fault.detail)]
            }
            members.append(("errors", .list(errors)))
        }
        members.append(("request", .text(requestID)))
        var headers = headers + [("Cache-Control", "no-store"), ("Content-Language", "en")]
        if code.status == .unauthorized {
            let error = code == .noCredential ? "" : #", error="invalid_token""#
            headers.append(("WWW-Authenticate", #"Bearer realm="carillon"\#(error)"#))
        }
        if code.status == .serviceUnavailable { headers.append(("Retry-After", "1")) }
        return HTTPResponse(
            code.status, contentType: "application/problem+json", headers: headers, body: Document.object(members).json)
    }

    private var type: String {
        code == .quotaExceeded
            ? "https://iana.org/assignments/http-problem-types#quota-exceeded" : "/problems/\(code.rawValue)"
    }

    /// A member's name, or an index, as a part of a JSON pointer.
    package static func escape(_ part: String) -> String {
        "/" + part.replacing("~", with: "~0").replacing("/", with: "~1")
    }
}

extension Problem {
    /// What the server refuses by itself.
    init(_ refusal: HTTPRefusal) {
        let code: ProblemCode =
            switch refusal {
            case .malformed: .badHeader
            case .targetTooLong: .uriTooLong
            case .headTooLarge: .headersTooLarge
            case .bodyTooLarge: .tooLarge
            case .overloaded: .overloaded
            case .draining: .draining
            }
        self.init(code, refusal.sentence)
    }
}
