import HTTPServer
import Notifications

/// What one method of one path does: the declaration from which it is routed, guarded and described.
package struct APIOperation: Sendable {
    package enum Method: String, CaseIterable, Sendable {
        case get = "GET"
        case put = "PUT"
        case patch = "PATCH"
        case post = "POST"
        case delete = "DELETE"
    }

    package struct Parameter: Sendable {
        package var name: String
        package var summary: String
        package var schema: Document

        package init(_ name: String, _ summary: String, _ schema: Document) {
            (self.name, self.summary, self.schema) = (name, summary, schema)
        }
    }

    package struct Body: Sendable {
        /// Of each type.
        package var schemas: [(type: String, schema: Document)]
        package var largest: Int

        package init(_ schema: Document, largest: Int = 64 << 10) {
            self.init([("application/json", schema)], largest: largest)
        }

        /// Of a JSON Merge Patch (RFC 7396).
        package init(merging schema: Document) {
            self.init([("application/merge-patch+json", schema), ("application/json", schema)], largest: 64 << 10)
        }

        package init(_ schemas: [(type: String, schema: Document)], largest: Int) {
            (self.schemas, self.largest) = (schemas, largest)
        }

        package var types: [String] { schemas.map(\.type) }
    }

    package struct Response: Sendable {
        package var status: HTTPResponse.Status
        package var summary: String
        /// nil: without a body.
        package var schema: Document?
        /// Of the body.
        package var type: String

        package init(
            _ status: HTTPResponse.Status, _ summary: String, _ schema: Document? = nil,
            type: String = "application/json"
        ) {
            (self.status, self.summary, self.schema, self.type) = (status, summary, schema, type)
        }
    }

    package var name: String
    package var method: Method
    package var path: PathTemplate
    package var summary: String
    /// One of these; empty: whoever asks, without a key.
    package var scopes: [APIScope]
    /// Whether an app's user may call it, too, for what is the user's own.
    package var isForUsers: Bool
    /// Whether whoever has the credential of the device in the path may call it, too.
    package var isForDevices: Bool
    package var pathParameters: [Parameter]
    package var query: [Parameter]
    /// Beside those of HTTP itself.
    package var headers: [Parameter]
    package var body: Body?
    package var responses: [Response]
    /// Beside those that every operation may have.
    package var problems: [ProblemCode]

    package init(
        _ name: String, _ method: Method, _ path: PathTemplate, _ summary: String, scopes: [APIScope] = [],
        isForUsers: Bool = false, isForDevices: Bool = false, pathParameters: [Parameter] = [], query: [Parameter] = [],
        headers: [Parameter] = [],
        body: Body? = nil,
        responses: [Response], problems: [ProblemCode] = []
    ) {
        (self.name, self.method, self.path, self.summary, self.scopes) = (name, method, path, summary, scopes)
        (self.isForUsers, self.isForDevices) = (isForUsers, isForDevices)
        (self.pathParameters, self.query, self.headers, self.body) = (pathParameters, query, headers, body)
        (self.responses, self.problems) = (responses, problems)
    }

    /// A body on an operation that has none is ignored up to here.
    static let largestIgnored = 1024

    var largestBody: Int { body?.largest ?? Self.largestIgnored }

    /// Every problem that it may answer with.
    var allProblems: [ProblemCode] {
        var all: Set<ProblemCode> = [
            .badPath, .badHeader, .notFound, .methodNotAllowed, .notAcceptable, .tooLarge, .uriTooLong,
            .headersTooLarge,
            .defect, .overloaded, .draining,
        ]
        if !scopes.isEmpty { all.formUnion([.noCredential, .unknownKey, .expiredToken, .scope, .quotaExceeded]) }
        if isForUsers { all.formUnion([.badToken, .personErased]) }
        if isForDevices { all.insert(.badCredential) }
        if body != nil { all.formUnion([.notJSON, .duplicateMember, .badEncoding, .mediaType, .badRequest]) }
        all.formUnion(problems)
        return ProblemCode.allCases.filter(all.contains)
    }
}

/// A path whose segments in braces may be anything that is not empty: `/v1/requests/{request_id}`.
package struct PathTemplate: ExpressibleByStringLiteral, Sendable {
    private enum Segment {
        case constant(String)
        case parameter(String)
    }

    package let text: String
    private let segments: [Segment]

    package init(stringLiteral text: String) {
        self.text = text
        segments = text.split(separator: "/").map { segment in
            segment.first == "{" ? .parameter(String(segment.dropFirst().dropLast())) : .constant(String(segment))
        }
    }

    package var parameters: [String] {
        segments.compactMap { if case .parameter(let name) = $0 { name } else { nil } }
    }

    /// - Parameter path: the decoded segments.
    /// - Returns: the values of the parameters in their order; nil if the path is another one.
    func match(_ path: [String]) -> [String]? {
        guard path.count == segments.count else { return nil }
        var values: [String] = []
        for (segment, part) in zip(segments, path) {
            switch segment {
            case .constant(let text): if text != part { return nil }
            case .parameter where part.isEmpty: return nil
            case .parameter: values.append(part)
            }
        }
        return values
    }
}
