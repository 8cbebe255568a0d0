import Foundation
import TestSupport
import Testing
import WholeFile

@Suite("A file that is written whole")
struct WholeFileTests {
    private let folder = TemporaryFolder()

    init() throws {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    }

    private func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    @Test("it replaces what was there, also a draft that a dead process has left, and only its owner may read it")
    func replaces() throws {
        let path = folder.path + "/file"
        for text in ["old", "new"] {
            try Data("left".utf8).write(to: URL(fileURLWithPath: path + ".new"))
            try WholeFile.write(Array(text.utf8), to: path)
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("new".utf8))
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        #expect(try names(folder.path) == ["file"])
        #expect(throws: WholeFile.Failure.self) { try WholeFile.write([1], to: folder.path) }
        #expect(!FileManager.default.fileExists(atPath: folder.path + ".new"))
    }

    @Test(
        "where the disk is full what was there stays, and neither a draft nor an open file is left",
        .enabled(if: SmallDisk.isPossible, "only root may mount a small file system"))
    func full() throws {
        let disk = try #require(SmallDisk())
        let path = disk.path + "/file"
        try WholeFile.write(Array("old".utf8), to: path)
        let filler = try disk.fill(leaving: 1)
        let large = [UInt8](repeating: 7, count: 20_000)
        let failure = #expect(throws: WholeFile.Failure.self) { try WholeFile.write(large, to: path) }
        #expect(failure?.code == ENOSPC)
        #expect(try names(disk.path) == ["file", "filler"])
        let open = try names("/proc/self/fd").compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        }
        #expect(!open.contains { $0.hasPrefix(disk.path) })
        try FileManager.default.removeItem(atPath: filler)
        try WholeFile.write(large, to: path)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(large))
    }
}
