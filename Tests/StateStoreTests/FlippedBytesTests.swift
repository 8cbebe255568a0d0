import Foundation
import Testing

@testable import StateStore

/// LMDB has no checksums for its own pages, so damage there may end the process; the marker file gets the next ones out of
/// it. The processes are real ones, as they have to be able to die.
@Suite("Random damage anywhere in the file")
struct FlippedBytesTests {
    static let seeds: [UInt64] = [1, 2, 3, 4]

    private static func value(_ key: String) -> String { "value of \(key) \(String(repeating: "x", count: 100))" }

    /// Opens, reads everything, notes a wrong value in a file, writes, and leaves without closing.
    private static func use(_ path: String) {
        do {
            let store = try DiskStore.open(path).store
            let reader = try store.makeReader()
            try reader.begin()
            for pair in try reader.content() where pair.value != value(pair.key) {
                try Data(pair.key.utf8).write(to: URL(fileURLWithPath: path + "/wrong"))
            }
            try store.change([("new", value("new"))])
        } catch {
            // Found, which is as good as sound.
        }
        exit(1)
    }

    @Test("never gives a wrong value, and is sound again at the latest at the fourth start", arguments: seeds)
    func flipped(seed: UInt64) async throws {
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let folder = TemporaryFolder()
        let store = try DiskStore.open(folder.path).store
        try store.change((0..<3_000).map { ("key\(10_000 + $0)", Self.value("key\(10_000 + $0)")) })
        try store.close()
        var data = try Data(contentsOf: folder.dataFile)
        for _ in 0..<20 {
            data[Int.random(in: 0..<data.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        }
        try data.write(to: folder.dataFile)

        for _ in 0..<3 {
            await #expect(processExitsWith: .failure) { [path = folder.path as String] in
                Self.use(path)
            }
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/wrong"))
        let (survivor, _) = try DiskStore.open(folder.path)
        for pair in try survivor.content() {
            #expect(pair.value == Self.value(pair.key))
        }
        try survivor.change([("again", "1")])
        try survivor.close()
        #expect(try DiskStore.open(folder.path).opening == .clean)
    }
}
