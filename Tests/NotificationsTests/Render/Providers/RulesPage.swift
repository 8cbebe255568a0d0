import TestSupport
import Testing

/// The examples of docs/rules.md.
enum RulesPage {
    /// The lines of the page from a title to the next one that begin like this.
    static func lines(of title: String, beginningWith start: String) throws -> [String] {
        let lines = try Page("docs/rules.md").lines().filter { !$0.isEmpty }
        let first = try #require(lines.firstIndex { $0.hasPrefix("### \(title) ") })
        return lines[(first + 1)...].prefix { !$0.hasPrefix("## ") && !$0.hasPrefix("### ") }
            .filter { $0.hasPrefix(start) }
    }
}
