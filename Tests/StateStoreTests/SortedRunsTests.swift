import Foundation
import TestSupport
import Testing

@testable import StateStore

@Suite("Sorted runs")
struct SortedRunsTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    }

    /// Adds a run with these changes, in the order of their keys.
    private func add(_ changes: [String: String?], to runs: inout SortedRuns) throws {
        try runs.add { run throws(StoreError) in
            for (key, value) in changes.sorted(by: { $0.key < $1.key }) {
                try withBytes(of: key) { key throws(StoreError) in
                    guard let value else { return try run.add(key, nil) }
                    try withBytes(of: value) { value throws(StoreError) in try run.add(key, value) }
                }
            }
        }
    }

    private func merged(_ runs: borrowing SortedRuns) throws -> [(key: String, value: String?)] {
        var merge = try runs.merged()
        var found: [(key: String, value: String?)] = []
        while let (key, value) = try merge.next() {
            found.append((String(decoding: key, as: UTF8.self), value.map { String(decoding: $0, as: UTF8.self) }))
        }
        return found
    }

    @Test("give every key once and in order, with its last change", arguments: [1, 2, 3, 4] as [UInt64])
    func merge(seed: UInt64) throws {
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        var runs = try SortedRuns(in: folder.path)
        var expected: [String: String?] = [:]
        for run in 0..<Int.random(in: 1...40, using: &random) {
            var changes: [String: String?] = [:]
            for _ in 0..<Int.random(in: 0...300, using: &random) {
                // Keys of one byte to some, so that one is the beginning of another.
                let digits = String(Int.random(in: 1...9_999_999_999, using: &random))
                let key = String(digits.prefix(Int.random(in: 1...10, using: &random)))
                let isLong = Int.random(in: 0..<20, using: &random) == 0
                let value = "\(run)" + String(repeating: "x", count: isLong ? 100_000 : Int(digits.prefix(2)) ?? 0)
                changes[key] = .some(Int.random(in: 0..<4, using: &random) == 0 ? nil : value)
            }
            try add(changes, to: &runs)
            expected.merge(changes) { $1 }
        }
        for _ in 0..<2 {
            let found = try merged(runs)
            #expect(found.map(\.key) == expected.keys.sorted())
            #expect(found.allSatisfy { expected[$0.key] == .some($0.value) })
        }
    }

    @Test("hold values that are larger than any buffer, and none")
    func sizes() throws {
        var runs = try SortedRuns(in: folder.path)
        #expect(try merged(runs).isEmpty)
        let large = String(repeating: "y", count: 3 << 20)
        try add([:], to: &runs)
        try add(["a": large, "b": "", "c": nil], to: &runs)
        try add(["b": large], to: &runs)
        let found = try merged(runs)
        #expect(found.map(\.key) == ["a", "b", "c"])
        #expect(found.map(\.value) == [large, large, nil])
    }

    @Test("have no name in the file system")
    func nameless() throws {
        var runs = try SortedRuns(in: folder.path)
        try add(["a": "1"], to: &runs)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        #expect(throws: StoreError.self) { _ = try SortedRuns(in: folder.path + "/missing") }
    }

    @Test(
        "leave out a run for which there is no room, until there is",
        .enabled(if: SmallDisk.isPossible, "only root may mount a small file system"))
    func fullDisk() throws {
        let disk = try #require(SmallDisk())
        var runs = try SortedRuns(in: disk.path)
        try add(["a": "1"], to: &runs)
        let filler = try disk.fill(leaving: 2)
        let large = String(repeating: "y", count: 2 << 20)
        let error = #expect(throws: StoreError.self) { try add(["b": large], to: &runs) }
        #expect(error?.kind == .diskFull)
        #expect(error?.recovery == .retry)
        #expect(try merged(runs).map(\.key) == ["a"])
        try FileManager.default.removeItem(atPath: filler)
        try add(["b": large], to: &runs)
        #expect(try merged(runs).map(\.value) == ["1", large])
    }
}
