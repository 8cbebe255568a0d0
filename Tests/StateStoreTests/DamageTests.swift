import Foundation
import TestSupport
import Testing

@testable import StateStore

@Suite("A damaged store")
struct DamageTests {
    let folder = TemporaryFolder()

    private func value(_ index: Int) -> String { "value-of-\(index)-\(String(repeating: "x", count: 80))." }

    private func fill(_ count: Int = 2_000) throws {
        let store = try DiskStore.open(folder.path).store
        try store.change((0..<count).map { ("key\(100_000 + $0)", value($0)) }, checkpoint: "offset 17")
        try store.close()
    }

    /// Flips one bit at every place in the file where `text` is.
    private func flip(_ text: String) throws {
        var data = try Data(contentsOf: folder.dataFile)
        var found = 0
        var start = data.startIndex
        while let range = data.range(of: Data(text.utf8), in: start..<data.endIndex) {
            data[range.lowerBound + text.utf8.count / 2] ^= 0x10
            start = range.upperBound
            found += 1
        }
        try #require(found > 0)
        try data.write(to: folder.dataFile)
    }

    @Test("a flipped bit in a value is found when it is read, and the next start wipes the store")
    func flippedValue() throws {
        try fill()
        try flip(value(1_234))
        do {
            let (store, opening) = try DiskStore.open(folder.path)
            #expect(opening == .clean)
            let reader = try store.makeReader()
            try reader.begin()
            #expect(try reader.text(for: "key100001") == value(1))
            let error = #expect(throws: StoreError.self) { _ = try reader.text(for: "key101234") }
            #expect(error?.recovery == .wipe)
            #expect(throws: StoreError.self) { _ = try reader.content() }
        }
        guard case .wiped = try DiskStore.open(folder.path).opening else {
            Issue.record("the damaged store was opened again")
            return
        }
    }

    @Test("a flipped bit in a key is found too: the checksum covers the key")
    func flippedKey() throws {
        try fill()
        try flip("key101234")
        let store = try DiskStore.open(folder.path).store
        #expect(throws: StoreError.self) { _ = try store.content() }
    }

    @Test("a flipped bit in the checkpoint is found")
    func flippedCheckpoint() throws {
        try fill()
        try flip("offset 17")
        let store = try DiskStore.open(folder.path).store
        #expect(throws: StoreError.self) { _ = try store.checkpoint() }
    }

    @Test("no empty store takes the place of one whose name is damaged", arguments: ["entries", "checkpoint"])
    func flippedName(name: String) throws {
        try fill()
        try flip(name)
        let (store, opening) = try DiskStore.open(folder.path)
        guard case .wiped = opening else {
            Issue.record("opened as \(opening), with \(try store.content().count) entries")
            return
        }
    }

    @Test("a file cut off at any length is wiped, never read", arguments: [1, 4_000, 8_192, 40_960, 100_000])
    func truncated(length: UInt64) throws {
        try fill()
        let file = try FileHandle(forWritingTo: folder.dataFile)
        try file.truncate(atOffset: length)
        try file.close()
        let (store, opening) = try DiskStore.open(folder.path)
        guard case .wiped = opening else {
            Issue.record("opened as \(opening)")
            return
        }
        #expect(try store.content().isEmpty)
        try store.change([("a", "1")])
    }

    @Test("a file that is not a store is wiped")
    func foreignFile() throws {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try Data(repeating: 0x41, count: 100_000).write(to: folder.dataFile)
        guard case .wiped = try DiskStore.open(folder.path).opening else {
            Issue.record("a file that is not a store was opened")
            return
        }
    }

    @Test(
        "a cleanly closed file always reaches to the last page, so its length is no false alarm", arguments: [1, 2, 3])
    func noFalseAlarm(seed: UInt64) throws {
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for round in 0..<15 {
            let (store, opening) = try DiskStore.open(folder.path)
            #expect(opening == (round == 0 ? .created : .clean))
            for _ in 0..<4 {
                try store.change(
                    (0..<200).map { _ in
                        let key = "key\(Int.random(in: 0..<600, using: &random))"
                        return (key, Bool.random(using: &random) ? nil : String(repeating: "x", count: 400))
                    })
            }
            try store.close()
        }
    }
}
