import Foundation
import Testing

@testable import Arguments

@Suite struct CompletionTests {
    /// Runs a shell over a script; nil where the shell is not installed.
    private func run(_ shell: String, _ arguments: [String], input: String) throws -> (status: Int32, output: String)? {
        guard
            let path = ["/bin/", "/usr/bin/", "/usr/local/bin/"].map({ $0 + shell })
                .first(where: FileManager.default.isExecutableFile)
        else { return nil }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("completion-\(UUID().uuidString)")
        try Data(input.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments + [file.path]
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }

    /// What bash offers after these words, the last of which is being typed.
    private func offers(_ words: String...) throws -> [String]? {
        let quoted = words.map { "'\($0)'" }.joined(separator: " ")
        let driver = """
            \(CompletionScript(SampleCommand.self).text(for: .bash))
            COMP_WORDS=(\(quoted)); COMP_CWORD=\(words.count - 1); COMP_LINE="${COMP_WORDS[*]}"
            _sample
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        return try run("bash", [], input: driver)?.output.split(separator: "\n").map(String.init)
    }

    @Test("each shell takes its script", arguments: [(CompletionShell.bash, "-n"), (.zsh, "-n"), (.fish, "-n")])
    func syntax(_ shell: CompletionShell, _ flag: String) throws {
        let script = CompletionScript(SampleCommand.self).text(for: shell)
        guard let result = try run(shell.rawValue, [flag], input: script) else { return }
        #expect(result.status == 0, "\(result.output)")
    }

    @Test("bash offers commands, options and values where they fit")
    func bash() throws {
        #expect(try offers("sample", "") == ["paint", "tools", "--help"])
        #expect(try offers("sample", "pa") == ["paint"])
        #expect(try offers("sample", "tools", "") == ["show", "--help"])
        #expect(try offers("sample", "paint", "--co") == ["--colour", "--coat-count"])
        #expect(try offers("sample", "paint", "--colour", "") == ["red", "green", "blue"])
        #expect(try offers("sample", "paint", "-c", "g") == ["green"])
        #expect(try offers("sample", "paint", "--folder", "") == [])
    }

    @Test("fish and zsh scripts name every command, option and value")
    func contents() {
        for shell in [CompletionShell.zsh, .fish] {
            let script = CompletionScript(SampleCommand.self).text(for: shell)
            for word in ["paint", "tools", "show", "colour", "coat-count", "folder", "red"] {
                #expect(script.contains(word), "\(shell) lacks \(word)")
            }
        }
        #expect(CompletionScript(SampleCommand.self).text(for: .fish).contains("Show ’everything’"))
    }
}
