import HTTPServer
import Notifications

/// What is wrong with a request, in the form of RFC 9457, with everything that is wrong at once.
package struct Problem: Error, Sendable {
    /// A part of the body that is wrong.
    package struct Fault: Sendable {
        /// A JSON pointer, RFC 6901; empty: the whole body. Where it would be longer than ``mostPointer``, that of what
        /// contains the part: a hundred of them are told, and each name is the client's.
        package private(set) var pointer: String
        /// The problem that it is alone.
        package var problem: ProblemCode
        /// Finer than that of the problem where it would be a dead letter.
        package var code: String
        package var detail: String

        package init(pointer: String, _ problem: ProblemCode, code: String? = nil, detail: String) {
            (self.pointer, self.problem, self.code) = (Self.shortened(pointer), problem, code ?? problem.rawValue)
            self.detail = detail
        }

        /// The fault of a part of the value at `parent`, a pointer.
        mutating func move(into parent: String) { pointer = Self.shortened(parent + pointer) }

        private static func shortened(_ pointer: String) -> String {
            guard pointer.utf8.count > mostPointer else { return pointer }
            // A pointer may end before each slash.
            let begin = pointer.utf8.prefix(mostPointer + 1)
            return String(pointer[..<(begin.lastIndex(of: UInt8(ascii: "/")) ?? begin.startIndex)])
        }
    }

    /// In bytes.
    package static let mostPointer = 1_024

    /// More than these are not told.
    package static let mostFaults = RequestFindings.most

    package var code: ProblemCode
    /// One sentence, which says what is allowed.
    package var detail: String
    package var faults: [Fault] = []
    package var headers: [(name: String, value: String)] = []

    package init(_ code: ProblemCode, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// Everything that is wrong with a body: the first fault says what the problem is. Nil if nothing is wrong.
    package init?(_ faults: [Fault]) {
        guard let first = faults.first else { return nil }
        self.init(first.problem, first.detail)
        self.faults = Array(faults.prefix(Self.mostFaults))
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
}

extension Problem {
    /// A bound that holds for a time.
    ///
    /// - Parameter seconds: until it may be tried again.
    package init(tooMany detail: String, retryAfter seconds: Int) {
        self.init(.quotaExceeded, detail)
        headers = [("Retry-After", "\(seconds)")]
    }

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
