import Notifications

extension Router {
    /// The description of every operation, OpenAPI 3.1.
    ///
    /// - Parameter schemas: what the schemas of operations refer to, `#/components/schemas/…`.
    static func openAPI(
        _ operations: [APIOperation], version: String, schemas: [(name: String, value: Document)] = []
    ) -> Document {
        var paths: [(name: String, value: Document)] = []
        for operation in operations {
            let member = (name: operation.method.rawValue.lowercased(), value: describe(operation))
            if let index = paths.firstIndex(where: { $0.name == operation.path.text }),
                case .object(let members) = paths[index].value
            {
                paths[index].value = .object(members + [member])
            } else {
                paths.append((operation.path.text, .object([member])))
            }
        }
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "Carillon", "version": .text(version),
                "license": ["name": "Apache-2.0", "identifier": "Apache-2.0"],
            ],
            "paths": .object(paths),
            "components": [
                "securitySchemes": [
                    "key": ["type": "http", "scheme": "bearer", "bearerFormat": "crl_live_…"],
                    "user": ["type": "http", "scheme": "bearer", "bearerFormat": "JWT"],
                    "device": [
                        "type": "apiKey", "in": "header", "name": "Authorization",
                        "description": "Device, a blank, the device's id, a colon and its secret.",
                    ],
                ],
                "schemas": .object(schemas + [("Problem", problem)]),
            ],
        ]
    }

    private static func describe(_ operation: APIOperation) -> Document {
        var members: [(name: String, value: Document)] = [
            ("operationId", .text(operation.name)), ("summary", .text(operation.summary)),
        ]
        let parameters =
            operation.pathParameters.map { describe($0, "path") } + operation.query.map { describe($0, "query") }
            + operation.headers.map { describe($0, "header") }
        if !parameters.isEmpty { members.append(("parameters", .list(parameters))) }
        if let body = operation.body {
            let content = body.schemas.map { (name: $0.type, value: ["schema": $0.schema] as Document) }
            members.append(("requestBody", ["required": true, "content": .object(content)]))
        }
        var responses = operation.responses.map { response -> (name: String, value: Document) in
            var parts: [(name: String, value: Document)] = [("description", .text(response.summary))]
            if let schema = response.schema {
                parts.append(("content", .object([(response.type, ["schema": schema] as Document)])))
            }
            return ("\(response.status.rawValue)", .object(parts))
        }
        let problems = Dictionary(grouping: operation.allProblems) { $0.status.rawValue }
        for (status, codes) in problems.sorted(by: { $0.key < $1.key }) {
            let codes = codes.map(\.rawValue).joined(separator: ", ")
            let content: Document = [
                "application/problem+json": ["schema": ["$ref": "#/components/schemas/Problem"]]
            ]
            responses.append(("\(status)", ["description": .text(codes), "content": content]))
        }
        members.append(("responses", .object(responses)))
        var security: [Document] = operation.scopes.isEmpty ? [] : [["key": []]]
        if operation.isForUsers { security.append(["user": []]) }
        if operation.isForDevices { security.append(["device": []]) }
        members.append(("security", .list(security)))
        if !operation.scopes.isEmpty {
            members.append(("x-scopes", .list(operation.scopes.map { .text($0.rawValue) })))
        }
        return .object(members)
    }

    private static func describe(_ parameter: APIOperation.Parameter, _ location: String) -> Document {
        [
            "name": .text(parameter.name), "in": .text(location), "required": .boolean(location == "path"),
            "description": .text(parameter.summary), "schema": parameter.schema,
        ]
    }

    private static let problem: Document = [
        "type": "object",
        "required": ["type", "title", "status", "detail", "code"],
        "properties": [
            "type": ["type": "string", "format": "uri-reference"],
            "title": ["type": "string"],
            "status": ["type": "integer", "minimum": 400, "maximum": 599],
            "detail": ["type": "string"],
            "code": ["type": "string", "enum": .list(ProblemCode.allCases.map { .text($0.rawValue) })],
            "request": ["type": "string"],
            "errors": [
                "type": "array",
                "items": [
                    "type": "object",
                    "required": ["pointer", "code", "detail"],
                    "properties": [
                        "pointer": ["type": "string"], "code": ["type": "string"], "detail": ["type": "string"],
                    ],
                ],
            ],
        ],
    ]
}
