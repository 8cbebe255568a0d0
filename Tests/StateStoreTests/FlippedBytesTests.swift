import Foundation
import TestSupport
import Testing

@testable import StateStore

/// LMDB has no checksums for its own pages, so damage there may end the process; the marker file lets the next start
/// recover. Runs real processes, because they must be able to die.
@Suite("Flipped bytes in a store that was not closed")
struct FlippedBytesTests {
    /// A hundred places, in four processes that run at the same time.
    static let seeds: [Range<UInt64>] = [0..<25, 25..<50, 50..<75, 75..<100]

    @Test(
        "give no wrong answer, no crash and no hang: the store is sound, or it is wiped", arguments: seeds)
    func flipped(seeds: Range<UInt64>) async throws {
        print("seeds \(seeds)")
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        await #expect(processExitsWith: .success) {
            [path = folder.path as String, first = seeds.lowerBound as UInt64, end = seeds.upperBound as UInt64] in
            DamagedStoreTrial.run(first..<end, in: path)
        }
        let found = try String(contentsOfFile: folder.path + "/findings", encoding: .utf8)
        #expect(found == "")
        let outcomes = try String(contentsOfFile: folder.path + "/outcomes", encoding: .utf8).split(separator: "\n")
        #expect(outcomes.count == seeds.count)
        // The test is of use only if some of the damage was found and some of it was harmless.
        #expect(outcomes.contains { $0.hasSuffix("wiped") })
        #expect(outcomes.contains { $0.hasSuffix("checked") })
    }
}
