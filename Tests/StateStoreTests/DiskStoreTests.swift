import Foundation
import TestSupport
import Testing

@testable import StateStore

@Suite("The store on disk")
struct DiskStoreTests {
    let folder = TemporaryFolder()

    /// Fills a store with recognisable values and closes it.
    private func fill(_ count: Int = 2_000) throws {
        let store = try DiskStore.open(folder.path).store
        try store.change(
            (0..<count).map { ("key\(100_000 + $0)", "value-of-\($0)-\(String(repeating: "x", count: 80))") })
        try store.change([], checkpoint: "offset 17")
        try store.close()
    }

    @Test("what was written is there after closing and opening")
    func reopen() throws {
        try fill()
        let (store, opening) = try DiskStore.open(folder.path)
        #expect(opening == .clean)
        #expect(try store.content().count == 2_000)
        #expect(try store.checkpoint() == "offset 17")
        try store.close()
        #expect(!FileManager.default.fileExists(atPath: folder.marker.path))
    }

    @Test("the folder and its files are the owner's alone")
    func permissions() throws {
        try FileManager.default.createDirectory(
            atPath: folder.path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        try fill(1)
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.path)
        #expect(attributes[.posixPermissions] as? Int == 0o700)
        let data = try FileManager.default.attributesOfItem(atPath: folder.dataFile.path)
        #expect(data[.posixPermissions] as? Int == 0o600)
    }

    @Test("missing parent folders are created")
    func nestedFolder() throws {
        let (store, opening) = try DiskStore.open(folder.path + "/a/b/c")
        #expect(opening == .created)
        try store.close()
    }

    @Test("a folder that cannot be created is an error that names it")
    func impossibleFolder() throws {
        let error = #expect(throws: StoreError.self) { _ = try DiskStore.open("/dev/null/store") }
        #expect(error?.recovery == .stop)
        #expect(
            error?.description.contains("/dev/null/store") == true || error?.description.contains("/dev/null") == true)
    }

    @Test("opening the same folder twice in one process is refused, by whatever path")
    func openTwice() throws {
        let (store, _) = try DiskStore.open(folder.path)
        let error = #expect(throws: StoreError.self) { _ = try DiskStore.open(folder.path + "/.") }
        #expect(error?.kind == .alreadyOpen)
        try store.change([("a", "1")])
        try store.close()
        let (again, opening) = try DiskStore.open(folder.path)
        #expect(opening == .clean)
        try again.close()
    }

    @Test("a store that is not closed explicitly is closed when its last user releases it")
    func closedByDeinit() throws {
        do {
            let store = try DiskStore.open(folder.path).store
            try store.change([("a", "1")])
        }
        #expect(try DiskStore.open(folder.path).opening == .clean)
    }

    @Test("several readers on one thread read at the same time")
    func readersOnOneThread() throws {
        let store = try DiskStore.open(folder.path).store
        try store.change([("a", "1")])
        let readers = try (0..<4).map { _ in try store.makeReader() }
        for reader in readers {
            try reader.begin()
        }
        for reader in readers {
            #expect(try reader.text(for: "a") == "1")
        }
    }

    @Test("a reader made on one thread reads on another")
    func readerOnAnotherThread() throws {
        let store = try DiskStore.open(folder.path).store
        try store.change([("a", "1")])
        nonisolated(unsafe) let reader = try store.makeReader()
        try reader.begin()
        nonisolated(unsafe) var found: String?
        let thread = DispatchQueue(label: "another thread")
        thread.sync {
            found = try? reader.text(for: "a")
            try? reader.begin()
            reader.end()
        }
        #expect(found == "1")
        try reader.begin()
        #expect(try reader.text(for: "a") == "1")
    }

    @Test("too many readers is an error, not a crash")
    func tooManyReaders() throws {
        let store = try DiskStore.open(folder.path).store
        var readers: [any StoreReader] = []
        let error = #expect(throws: StoreError.self) {
            for _ in 0..<200 {
                readers.append(try store.makeReader())
                try readers.last?.begin()
            }
        }
        #expect(error?.kind == .tooManyReaders)
        readers.removeAll()
        try store.close()
    }

    @Test("a full store says so, keeps its data, and continues when opened with a larger size")
    func full() throws {
        let (store, _) = try DiskStore.open(folder.path, largestSize: 1 << 20)
        try store.change([("kept", "1")])
        let error = #expect(throws: StoreError.self) {
            try store.change((0..<2_000).map { ("key\($0)", String(repeating: "x", count: 1_000)) })
        }
        #expect(error?.kind == .storeFull)
        #expect(error?.recovery == .stop)
        #expect(try store.content() == [Pair("kept", "1")])
        try store.close()
        let larger = try DiskStore.open(folder.path).store
        try larger.change((0..<2_000).map { ("key\($0)", String(repeating: "x", count: 1_000)) })
        #expect(try larger.content().count == 2_001)
    }

    @Test("a full disk is retried later, damage is wiped")
    func recoveries() {
        #expect(StoreError(code: ENOSPC, doing: "commit", in: "x").recovery == .retry)
        #expect(StoreError(code: -30_796, doing: "read", in: "x").recovery == .wipe)
        #expect(StoreError(code: EACCES, doing: "open", in: "x").recovery == .stop)
    }

    @Test("writers on several threads take turns")
    func writers() async throws {
        let store = try DiskStore.open(folder.path).store
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    for step in 0..<10 {
                        try store.change([("\(writer)-\(step)", "x")])
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try store.content().count == 40)
    }

    @Test("wiping empties the folder")
    func wipe() throws {
        try fill()
        try DiskStore.wipe(folder.path)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        #expect(try DiskStore.open(folder.path).opening == .created)
    }

    @Test(
        "no link in the folder is followed, and the folder is none",
        arguments: ["data.mdb", "lock.mdb", "in-use.new", "in-use"])
    func links(name: String) throws {
        let victim = folder.path + ".victim"
        defer { try? FileManager.default.removeItem(atPath: victim) }
        try Data("victim".utf8).write(to: URL(fileURLWithPath: victim))
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: folder.path + "/" + name, withDestinationPath: victim)
        let store = try? DiskStore.open(folder.path, largestSize: 1 << 30).store
        #expect((store == nil) == name.hasSuffix(".mdb"))
        try store?.close()
        #expect(try String(contentsOfFile: victim, encoding: .utf8) == "victim")
        let link = folder.path + ".link"
        defer { try? FileManager.default.removeItem(atPath: link) }
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.path)
        #expect(throws: StoreError.self) { _ = try DiskStore.open(link, largestSize: 1 << 30) }
    }
}
