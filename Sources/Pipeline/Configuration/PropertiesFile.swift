import Foundation

/// A file of `key=value` lines, as Kafka's tools, librdkafka's and kcat's are: `#` and `!` start a comment line, blanks
/// around key and value do not count, a backslash at the end of a line continues it.
struct PropertiesFile {
    struct Line: Equatable {
        var number: Int
        var key: String
        var value: String
    }

    var lines: [Line] = []
    /// The numbers of lines that are not `key=value`. Their text is not kept: it may be a password.
    var malformed: [Int] = []

    init(_ text: String) {
        var pending = ""
        var start = 0
        let physical = text.split(omittingEmptySubsequences: false) { $0.isNewline }
        for (index, line) in physical.enumerated() {
            let trimmed = line.trimmingCharacters(in: .whitespaces)
            if pending.isEmpty {
                if trimmed.isEmpty || trimmed.hasPrefix("#") || trimmed.hasPrefix("!") { continue }
                start = index + 1
            }
            pending += trimmed
            if pending.hasSuffix("\\"), index + 1 < physical.count {
                pending.removeLast()
                continue
            }
            add(pending, number: start)
            pending = ""
        }
    }

    private mutating func add(_ line: String, number: Int) {
        let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
        guard parts.count == 2, !parts[0].isEmpty else {
            malformed.append(number)
            return
        }
        lines.append(Line(number: number, key: parts[0], value: parts[1]))
    }

    /// - Throws: one sentence that names the file.
    static func read(_ path: String) throws(ConfigurationProblem) -> PropertiesFile {
        guard let data = FileManager.default.contents(atPath: path) else {
            let reason = FileManager.default.fileExists(atPath: path) ? "it cannot be read" : "there is no such file"
            throw ConfigurationProblem(subject: path, message: reason)
        }
        guard let text = String(data: data, encoding: .utf8) else {
            throw ConfigurationProblem(subject: path, message: "it is not UTF-8 text")
        }
        return PropertiesFile(text)
    }
}
