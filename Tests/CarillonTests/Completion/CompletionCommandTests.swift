import Foundation
import Testing

@Suite struct CompletionCommandTests {
    @Test("the completion script of the whole command line is valid", arguments: ["bash", "zsh", "fish"])
    func completion(_ shell: String) throws {
        let script = try CommandProcess.run(["completion", shell])
        #expect(script.status == 0)
        #expect(script.output.contains("subscriptions"))
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/\(shell)") else { return }
        let file = FileManager.default.temporaryDirectory.path + "/completion-\(UUID().uuidString)"
        try Data(script.output.utf8).write(to: URL(fileURLWithPath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        let process = try Process.run(URL(fileURLWithPath: "/usr/bin/\(shell)"), arguments: ["-n", file])
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }
}
