import Foundation
import Notifications
import Pipeline
import TestSupport
import Testing

@testable import Arguments
@testable import carillon

@Suite("The pages list what exists")
struct PagesTests {
    @Test("docs/topics.md has every topic, with its partitions and its settings")
    func topics() throws {
        let lines = try Page("docs/topics.md").lines()
        var names = PipelineConfiguration.Topics()
        names.requests = "notifications.requests"
        names.broadcasts = "notifications.broadcasts"
        let delivery = SenderConfiguration()
        let premises = TopicPlan.Premises(
            retryTopics: delivery.retryTopics(of: names.dispatch),
            broadcastRetryTopics: delivery.retryTopics(of: names.broadcastDispatch))
        for topic in TopicPlan.all(names, premises) {
            let row = try #require(lines.first { $0.hasPrefix("| `\(topic.name)` | \(topic.partitions) | ") })
            for property in topic.properties {
                #expect(row.contains("`\(property.key)=\(property.value)`"), "\(topic.name)")
            }
        }
    }

    @Test("docs/operating.md has every exit code, and no other")
    func exitCodes() throws {
        let rows = try Page("docs/operating.md").rows(below: "| Code | Meaning | Restart? |")
        let codes = rows.map { $0.split(separator: "|")[0].trimmingCharacters(in: .whitespaces) }
        #expect(codes == ExitCode.allCases.map { "\($0.rawValue)" })
    }

    @Test("docs/dead-letters.md has every code, and no other")
    func codes() throws {
        let rows = try Page("docs/dead-letters.md").rows(below: "| `x-error-code` | Meaning |")
        let codes = rows.flatMap { row in
            row.split(separator: "|")[0].split(separator: ",").map { $0.trimmingCharacters(in: [" ", "`"]) }
        }
        #expect(codes.sorted() == DeadLetter.Code.allCases.map(\.label).sorted())
    }

    @Test("docs/commands.md has every command")
    func commands() throws {
        let spans = try Page("docs/commands.md").rows(below: "| Command | What it does |").flatMap {
            $0.split(separator: "`")
        }
        .filter { $0.hasPrefix("carillon ") }
        .map { Set($0.split { " []|\\".contains($0) }.map(String.init)) }
        for path in Self.paths(below: Carillon.self) {
            #expect(spans.contains { $0.isSuperset(of: path) }, "carillon \(path.joined(separator: " "))")
        }
    }

    /// The words of each command that does something and is listed, without the program's name.
    private static func paths(below command: any ParsableCommand.Type) -> [[String]] {
        command.configuration.subcommands.filter { !$0.configuration.isHidden }.flatMap { child in
            let rest = child.configuration.subcommands.isEmpty ? [[]] : paths(below: child)
            return rest.map { [child.configuration.commandName] + $0 }
        }
    }
}
