import Foundation

/// The command line by which an interrupted command goes on.
enum ResumingLine {
    /// The one of this process with its id, and without its secrets.
    ///
    /// - Parameter newID: what it did not have yet.
    static func make(newID: String?) -> String {
        var words = ["carillon"]
        for word in CommandLine.arguments.dropFirst() {
            let secret = ArgumentSecrets.secret(in: word)
            words.append(
                secret.map { String(decoding: Array(word.utf8)[..<$0.lowerBound], as: UTF8.self) + "…" } ?? word)
        }
        if let newID { words += ["--id", newID] }
        return words.map(quoted).joined(separator: " ")
    }

    private static func quoted(_ word: String) -> String {
        let isPlain = !word.isEmpty && word.utf8.allSatisfy { !" \t\n'\"\\$`&|;<>()*?[]{}~#!".utf8.contains($0) }
        return isPlain ? word : "'" + word.replacingOccurrences(of: "'", with: "'\\''") + "'"
    }
}
