import Foundation
import TestSupport
import Testing

@testable import Hosting

@Suite("who may write in the state folder") struct StateFolderTests {
    private let parent = TemporaryFolder()

    init() throws {
        try FileManager.default.createDirectory(atPath: parent.path, withIntermediateDirectories: true)
    }

    private var path: String { parent.path + "/state" }

    private func make(mode: mode_t, owner: uid_t? = nil) throws {
        try #require(mkdir(path, 0o700) == 0 && chmod(path, mode) == 0)
        if let owner { try #require(chown(path, owner, 10_001) == 0) }
    }

    private func refusal() -> String? {
        do throws(PipelineError) {
            _ = try StateFolder(path: path)
            return nil
        } catch {
            return error.description
        }
    }

    @Test(
        "owner and group may write: a volume of root's with a group and setgid, as Kubernetes mounts it, is taken",
        arguments: [0o700, 0o755, 0o770, 0o2775] as [mode_t])
    func allowed(mode: mode_t) throws {
        try make(mode: mode)
        #expect(refusal() == nil)
    }

    @Test(
        "a folder in which every user may write is refused, sticky or not",
        arguments: [0o777, 0o1777, 0o2777, 0o702] as [mode_t])
    func writable(mode: mode_t) throws {
        try make(mode: mode)
        #expect(refusal()?.hasPrefix("state.dir: every user may write in \(path): ") == true)
        #expect(!FileManager.default.fileExists(atPath: path + "/lock"), "nothing was made in it")
    }

    @Test("a folder of another user is refused, and nothing is made in it", .enabled(if: geteuid() == 0))
    func otherOwner() throws {
        try make(mode: 0o700, owner: 65_534)
        #expect(refusal()?.hasPrefix("state.dir: \(path) belongs to user 65534, and this process is user 0: ") == true)
        #expect(!FileManager.default.fileExists(atPath: path + "/lock"))
    }

    @Test("the folder may be below one in which every user may write, and may be a link itself, as systemd makes it")
    func parents() throws {
        try #require(chmod(parent.path, 0o1777) == 0)
        #expect(refusal() == nil)
        let link = parent.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        _ = try StateFolder(path: link)
    }

    @Test("no link in it is followed: neither its lock nor a folder of a service in it")
    func links() throws {
        try make(mode: 0o700)
        let victim = parent.path + "/victim"
        try FileManager.default.createSymbolicLink(atPath: path + "/lock", withDestinationPath: victim)
        #expect(refusal()?.hasPrefix("state.dir: cannot write in \(path): ") == true)
        #expect(!FileManager.default.fileExists(atPath: victim))
        try FileManager.default.createDirectory(atPath: victim, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: path + "/broadcasts", withDestinationPath: victim)
        #expect(throws: PipelineError.self) { _ = try StateFolder(path: path + "/broadcasts", inside: path) }
        #expect(!FileManager.default.fileExists(atPath: victim + "/lock"))
    }
}
