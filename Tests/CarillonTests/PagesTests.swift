import Foundation
import Pipeline
import Testing

@testable import carillon

@Suite struct ReadmeTests {
    private static func readme() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
        return try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
    }

    @Test("README's table has every topic, with its partitions and its settings")
    func topics() throws {
        let rows = try Self.readme().split(separator: "\n")
        for topic in TopicPlan.all(.init(), .init()) {
            let row = try #require(rows.first { $0.hasPrefix("| `\(topic.name)` | \(topic.partitions) | ") })
            for property in topic.properties {
                #expect(row.contains("`\(property.key)=\(property.value)`"), "\(topic.name)")
            }
        }
    }

    @Test("README's table has every exit code", arguments: ExitCode.allCases)
    func exitCodes(_ code: ExitCode) throws {
        #expect(try Self.readme().contains("\n| \(code.rawValue) | "))
    }
}
