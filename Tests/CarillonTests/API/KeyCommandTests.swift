import Foundation
import TestSupport
import Testing

@Suite("carillon api key") struct KeyCommandTests {
    private let folder = TemporaryFolder()
    private var file: String { folder.path + "/keys.json" }

    init() throws {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    }

    private func run(_ words: String...) throws -> CommandProcess {
        try CommandProcess.run(["api", "key"] + words)
    }

    private func object(_ text: String) throws -> [String: Any] {
        try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
    }

    @Test("a key is shown once, listed without its secret, and gone when it is revoked; another one stays")
    func life() throws {
        var ids: [String] = []
        var keys: [String] = []
        for _ in 0..<2 {
            let made = try run(
                "create", "--scope", "send", "--scope", "trace:read", "--audience", "place/*", "--app",
                "com.example.shop",
                "--note", "shop", "--rate", "50", "--expires-in", "90d", "--file", file, "--json")
            #expect(made.status == 0 && made.errors.isEmpty)
            let document = try object(made.output)
            ids.append(try #require(document["id"] as? String))
            keys.append(try #require(document["key"] as? String))
            #expect(document["line"] == nil)
        }
        let listed = try run("list", "--file", file, "--json").output
        #expect(listed.split(separator: "\n").count == 2)
        let stored = try String(contentsOfFile: file, encoding: .utf8)
        for key in keys { #expect(!listed.contains(key.suffix(49)) && !stored.contains(key.suffix(49))) }
        #expect(try run("list", "--file", file).output.hasSuffix("2 keys\n"))
        #expect(try run("revoke", ids[0], "--file", file).status == 0)
        let left = try object(try run("list", "--file", file, "--json").output)
        #expect(left["id"] as? String == ids[1] && left["scopes"] as? [String] == ["send", "trace:read"])
        let again = try run("revoke", ids[0], "--file", file)
        #expect(again.status == 64 && again.errors.contains("has no key '\(ids[0])'"))
    }

    @Test("without a file the line for it is printed")
    func line() throws {
        let document = try object(try run("create", "--scope", "send", "--environment", "test", "--json").output)
        let line = try object(try #require(document["line"] as? String))
        #expect((document["key"] as? String)?.hasPrefix("crl_test_") == true)
        #expect(line["id"] as? String == document["id"] as? String && (line["sha256"] as? String)?.count == 64)
    }

    @Test("what cannot be a key's is refused with all problems, and nothing is written")
    func refused() throws {
        let made = try run("create", "--scope", "send", "--audience", "team/7", "--rate", "0", "--file", file)
        #expect(made.status == 64 && made.output.isEmpty)
        #expect(made.errors.contains("team/7") && made.errors.contains("rate"))
        for words in [[], ["--scope", "all"], ["--scope", "send", "--expires-in", "soon"]] {
            #expect(try CommandProcess.run(["api", "key", "create", "--file", file] + words).status == 64)
        }
        #expect(!FileManager.default.fileExists(atPath: file))
        try Data("[7]".utf8).write(to: URL(fileURLWithPath: file))
        let listed = try run("list", "--file", file)
        #expect(listed.status == 64 && listed.errors == "carillon: --file \(file): key 1 is no object\n")
    }
}
