import Foundation
import JSONReader
import TestSupport
import Testing

@testable import API

@Suite("API: the file of keys on disk") struct KeyFileTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/keys.json" }

    init() throws {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    }

    private func problems(_ file: inout KeyFile) -> [String] {
        do throws(InvalidForm) {
            _ = try file.read()
            return []
        } catch {
            return error.problems
        }
    }

    @Test("it is taken up again when it changes, and only then; one that is wrong leaves the next look free")
    func changes() throws {
        var file = KeyFile(path)
        #expect(problems(&file) == ["it cannot be read: \(path): No such file or directory"])
        let entry = KeyEntry(APIKey(.live), scopes: [.send])
        try KeyFile.write(KeyRing([entry]), to: path)
        #expect(try file.read()?.entries == [entry])
        #expect(try file.read()?.entries == nil)
        try Data("[7]".utf8).write(to: URL(fileURLWithPath: path))
        #expect(problems(&file) == ["key 1 is no object"])
        #expect(problems(&file) == ["key 1 is no object"])
        try KeyFile.write(KeyRing([]), to: path)
        #expect(try file.read()?.entries == [])
    }

    @Test("it is for its owner alone, has no draft beside it, and a folder or a huge file is refused")
    func bounds() throws {
        try KeyFile.write(KeyRing([]), to: path)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["keys.json"])
        try Data(repeating: UInt8(ascii: " "), count: KeyFile.mostBytes + 1).write(to: URL(fileURLWithPath: path))
        var file = KeyFile(path)
        #expect(problems(&file) == ["it is too large; allowed are \(KeyFile.mostBytes) bytes"])
        var none = KeyFile(folder.path)
        #expect(problems(&none).count == 1)
        #expect(throws: InvalidForm.self) { try KeyFile.write(KeyRing([]), to: folder.path + "/none/keys.json") }
    }
}
