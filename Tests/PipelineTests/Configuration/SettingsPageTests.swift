import Foundation
import Testing

@testable import Pipeline

@Suite struct ReadmeTests {
    /// The rows of README's tables, as cells.
    private static func rows() throws -> [[String]] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized
        let text = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        return text.split(separator: "\n").filter { $0.hasPrefix("| ") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    @Test("README's table has every setting, with its default and what is allowed", arguments: Setting.all)
    func settings(_ setting: Setting) throws {
        let row = try #require(
            try Self.rows().first { $0.first == "`\(setting.key)`" && $0.count == 4 }, "no row of \(setting.key)")
        let expected =
            switch setting.defaultValue {
            case .value(""): "none"
            case .value(let text), .computed(let text): text
            case .none: "–"
            }
        #expect(row[1].trimmingCharacters(in: ["`"]) == expected)
        #expect(row[2] == setting.allowed)
    }

    @Test("README's table has no setting that there is not")
    func noOthers() throws {
        let rows = try Self.rows()
        let first = try #require(rows.firstIndex { $0 == ["Key", "Default", "Allowed", "Meaning"] })
        let keys = rows[(first + 1)...].prefix { $0.count == 4 }.compactMap(\.first)
        #expect(keys.map { $0.trimmingCharacters(in: ["`"]) } == Setting.all.map(\.key))
    }
}
