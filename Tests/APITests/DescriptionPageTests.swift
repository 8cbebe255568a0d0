import Foundation
import TestSupport
import Testing

@testable import API

/// Schemas/openapi.json is what `/openapi.json` answers where every operation is on. `CARILLON_REWRITE_PAGES=1 swift test
/// --filter DescriptionPageTests` writes it.
@Suite("API: the description in Schemas") struct DescriptionPageTests {
    private static let version = "1"

    private func indented(_ text: String) throws -> String {
        let object = try JSONSerialization.jsonObject(with: Data(text.utf8))
        let data = try JSONSerialization.data(
            withJSONObject: object, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
        return String(decoding: data, as: UTF8.self) + "\n"
    }

    @Test("Schemas/openapi.json has every operation as it is declared, and no other")
    func same() throws {
        let page = Page("Schemas/openapi.json")
        let text = try indented(APIDescription.document(APIDescription.operations, version: Self.version).json)
        if ProcessInfo.processInfo.environment["CARILLON_REWRITE_PAGES"] != nil {
            try text.write(toFile: page.path, atomically: true, encoding: .utf8)
        }
        #expect(try page.text() == text, "CARILLON_REWRITE_PAGES=1 writes the file")
    }

    @Test("the members of a request are those of the schema of its topic")
    func members() throws {
        func json(_ text: String) throws -> [String: Any] {
            try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        }
        let topic = try #require(
            try json(Page("Schemas/notifications.requests.value.schema.json").text())["$defs"]
                as? [String: [String: Any]])
        for (name, own) in RequestSchemas.all {
            guard let schema = topic[name.lowercased()] else { continue }
            let described = try json(own.json)
            for part in ["properties", "required"] {
                let names = [schema, described].map { schema -> [String] in
                    (schema[part] as? [String: Any])?.keys.sorted() ?? (schema[part] as? [String])?.sorted() ?? []
                }
                #expect(names[0] == names[1], "\(name)")
            }
        }
    }
}
