import Foundation
import HTTPServer
import Testing

@testable import API

@Suite("API: the description") struct DescriptionTests {
    private func describe(_ operations: [APIOperation]) -> String {
        Router.openAPI(operations, version: "1").json
    }

    private let operations = [
        APIOperation(
            "getThing", .get, "/v1/things/{thing}", "Tells.", scopes: [.send],
            pathParameters: [APIOperation.Parameter("thing", "Its id.", ["type": "string"])],
            responses: [APIOperation.Response(.ok, "told", ["type": "object"])]),
        APIOperation(
            "putThing", .put, "/v1/things/{thing}", "Makes.", scopes: [.send],
            pathParameters: [APIOperation.Parameter("thing", "Its id.", ["type": "string"])],
            body: APIOperation.Body(["type": "object"]), responses: [APIOperation.Response(.noContent, "made")],
            problems: [.otherContent]),
    ]

    @Test("it has every operation with what guards it, and every problem that it may answer with")
    func whole() throws {
        let paths = try #require(parse(describe(operations))["paths"] as? [String: [String: [String: Any]]])
        let methods = try #require(paths["/v1/things/{thing}"])
        let statuses = methods.mapValues { ($0["responses"] as? [String: Any])?.keys.sorted() }
        let always = ["400", "401", "403", "404", "405", "406", "413", "414", "429", "431", "500", "503"]
        #expect(statuses == ["get": ["200"] + always, "put": (["204", "409", "415", "422"] + always).sorted()])
        #expect(methods["get"]?["x-scopes"] as? [String] == ["send"])
        #expect(methods["get"]?["requestBody"] == nil && methods["put"]?["requestBody"] != nil)
    }

    @Test("each parameter of a path is described, and no two operations have the same name or the same way")
    func declarations() {
        let all = operations + APIDescription.operations
        for operation in all { #expect(operation.path.parameters == operation.pathParameters.map(\.name)) }
        #expect(Set(all.map(\.name)).count == all.count)
        #expect(Set(all.map { $0.method.rawValue + $0.path.text }).count == all.count)
    }

    private func parse(_ text: String) throws -> [String: Any] {
        try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
    }
}
