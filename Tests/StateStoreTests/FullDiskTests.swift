import Foundation
import TestSupport
import Testing

@testable import StateStore

@Suite("A full disk", .enabled(if: SmallDisk.isPossible, "only root may mount a small file system"))
struct FullDiskTests {
    /// With no room, and with room for a part: then the system itself reports an input/output error.
    @Test(
        "is reported as such, keeps the data, and the same change succeeds when there is room",
        arguments: [0, 3, 20])
    func full(pagesLeft: Int) throws {
        let disk = try #require(SmallDisk())
        let store = try DiskStore.open(disk.path + "/store").store
        try store.change([("kept", "1")], checkpoint: "at 1")
        let filler = try disk.fill(leaving: pagesLeft)
        let changes = (0..<200).map { ("key\($0)", String(repeating: "x", count: 1_000)) as (String, String?) }
        for _ in 0..<3 {
            let error = #expect(throws: StoreError.self) { try store.change(changes, checkpoint: "at 2") }
            #expect(error?.kind == .diskFull)
            #expect(error?.recovery == .retry)
            #expect(error?.description.contains(disk.path) == true)
        }
        #expect(try store.content() == [Pair("kept", "1")])
        try FileManager.default.removeItem(atPath: filler)
        try store.change(changes, checkpoint: "at 2")
        #expect(try store.content().count == 201)
        try store.close()
        #expect(try DiskStore.open(disk.path + "/store").opening == .clean)
    }

    @Test("prevents opening a store, and the store has its data when there is room")
    func opening() throws {
        let disk = try #require(SmallDisk())
        let path = disk.path + "/store"
        let store = try DiskStore.open(path).store
        try store.change([("kept", "1")])
        try store.close()
        let filler = try disk.fill(leaving: 0)
        let error = #expect(throws: StoreError.self) { _ = try DiskStore.open(path) }
        #expect(error?.kind == .diskFull)
        try FileManager.default.removeItem(atPath: filler)
        #expect(try DiskStore.open(path).store.content() == [Pair("kept", "1")])
    }
}
