import StateStore
import Testing

@testable import Notifications

@Suite("The checkpoint of the ids of requests")
struct RequestCheckpointTests {
    @Test("what was saved is loaded, with the last records of the partition; what is gone is removed")
    func roundTrip() throws {
        var driver = try RepeatDriver(limit: 10)
        for number in 0..<25 { driver.ask("r\(number)") }
        try driver.process()
        try driver.save()
        for number in 25..<33 { driver.ask("r\(number)") }
        driver.ask("r20")
        try driver.process()
        try driver.save()
        let before = driver.known
        let isLoaded = try driver.restart()
        let after = driver.known
        #expect(isLoaded && after == before && after.count == 10)
        let store = driver.store
        #expect(try count(store) == 10)
        let recent = driver.core.recentRecords(of: SourcePartition(.requests, 0), below: 34)
        #expect(recent.elements.map(\.offset) == Array(18..<34))
    }

    @Test("an entry of another size, one that is there twice and one that does not follow the others are not loaded")
    func refused() {
        func load(_ entries: [(offset: UInt64, key: UInt64, time: UInt64)], size: Int = 32) -> Bool {
            var states = RequestStates()
            states.assign(0, newest: 0)
            return entries.allSatisfy { entry in
                withUnsafeBytes(of: entry.offset.bigEndian) { key in
                    [entry.key, entry.key, 7, entry.time].withUnsafeBytes { value in
                        states.load(key, UnsafeRawBufferPointer(rebasing: value.prefix(size)), into: 0)
                    }
                }
            }
        }
        #expect(load([(1, 1, 5), (2, 2, 5), (4, 3, 6)]))
        #expect(!load([(1, 1, 5)], size: 24))
        #expect(!load([(1, 1, 5), (2, 1, 5)]))
        #expect(!load([(2, 1, 5), (1, 2, 5)]))
        #expect(!load([(1, 1, 5), (2, 2, 4)]))
    }

    private func count(_ store: MemoryStore) throws -> Int {
        let reader = try store.makeReader()
        try reader.begin()
        return try reader.count()
    }
}
