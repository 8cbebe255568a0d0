import HTTPServer
import Notifications

/// What says how to use the others, without a key.
package enum ContractEndpoints {
    static let operations = [describe, explain]

    /// - Parameter description: of all endpoints, these among them.
    package static func make(_ description: @escaping @Sendable () -> Document) -> [Endpoint] {
        [
            Endpoint(describe) { call in .now(call.response(.ok, description())) },
            Endpoint(explain) { call throws(Problem) in
                guard let code = ProblemCode(rawValue: call.pathValues[0]) else {
                    throw Problem(.notFound, "there is no such kind of problem; /openapi.json has all of them")
                }
                return .now(
                    call.response(
                        .ok,
                        [
                            "code": .text(code.rawValue), "title": .text(code.title),
                            "status": .integer(Int64(code.status.rawValue)), "advice": .text(code.advice),
                        ]))
            },
        ]
    }

    private static let describe = APIOperation(
        "getDescription", .get, "/openapi.json", "This description.",
        responses: [APIOperation.Response(.ok, "OpenAPI 3.1", ["type": "object"])])

    private static let explain = APIOperation(
        "getProblem", .get, "/problems/{code}", "What a problem is, and what to do.",
        pathParameters: [APIOperation.Parameter("code", "Of the problem.", ["type": "string"])],
        responses: [APIOperation.Response(.ok, "The problem's kind", kind)])

    private static let kind: Document = [
        "type": "object",
        "required": ["code", "title", "status", "advice"],
        "properties": [
            "code": ["type": "string"], "title": ["type": "string"], "status": ["type": "integer"],
            "advice": ["type": "string"],
        ],
    ]
}
