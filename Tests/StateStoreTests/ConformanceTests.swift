import Foundation
import Synchronization
import TestSupport
import Testing

@testable import StateStore

@Suite("Both stores")
struct ConformanceTests {
    let folder = TemporaryFolder()

    @Test(
        "entries come back in the order of their keys, as unsigned bytes, a prefix first", arguments: StoreKind.allCases
    )
    func order(_ kind: StoreKind) throws {
        let store = try kind.make(in: folder)
        try store.change([("b", "2"), ("é", "5"), ("ab", "1b"), ("a", "1"), ("~", "4"), ("ba", "3")])
        #expect(try store.content().map(\.key) == ["a", "ab", "b", "ba", "~", "é"])
        try store.close()
    }

    @Test("a put replaces, a removal removes once, an unknown key is nil", arguments: StoreKind.allCases)
    func replaceAndRemove(_ kind: StoreKind) throws {
        let store = try kind.make(in: folder)
        try store.change([("a", "1"), ("b", "2")])
        try store.change([("a", "one, and longer than before"), ("b", nil)])
        try store.write { writer throws(StoreError) in
            let isThere = try withBytes(of: "b") { key throws(StoreError) in try writer.remove(key) }
            #expect(!isThere)
        }
        let reader = try store.makeReader()
        try reader.begin()
        #expect(try reader.text(for: "a") == "one, and longer than before")
        #expect(try reader.text(for: "b") == nil)
        #expect(try reader.count() == 1)
    }

    @Test("keys are appended in order after all that are there, and in no other", arguments: StoreKind.allCases)
    func append(_ kind: StoreKind) throws {
        let store = try kind.make(in: folder)
        func append(_ keys: [String]) throws {
            try store.writeUnsynced { writer throws(StoreError) in
                for key in keys {
                    try withBytes(of: key) { key throws(StoreError) in try writer.append(key, key) }
                }
            }
        }
        let keys = (0..<3_000).map { "key\($0 + 10_000)" }
        try append(Array(keys[..<1_000]))
        try append(Array(keys[1_000...]))
        for other in ["key10999", "key12999", "a"] {
            #expect(throws: StoreError.self) { try append(["key20000", other]) }
        }
        try store.change([("key10500x", "between")])
        let content = try store.content()
        #expect(content.count == 3_001)
        #expect(content.filter { $0.value != "between" } == keys.map { Pair($0, $0) })
        try store.close()
    }

    @Test("an empty value is a value", arguments: StoreKind.allCases)
    func emptyValue(_ kind: StoreKind) throws {
        let store = try kind.make(in: folder)
        try store.change([("a", "")])
        #expect(try store.content() == [Pair("a", "")])
    }

    @Test("the entries of a prefix come in order, no more than asked for, and no others", arguments: StoreKind.allCases)
    func prefix(_ kind: StoreKind) throws {
        let store = try kind.make(in: folder)
        try store.change((0..<1_000).map { ("key\($0 * 2 + 10_000)", "\($0)") })
        let reader = try store.makeReader()
        try reader.begin()
        #expect(try reader.content(startingWith: "key1100").map(\.value) == ["500", "501", "502", "503", "504"])
        #expect(try reader.content(startingWith: "key11000") == [Pair("key11000", "500")])
        #expect(try reader.content(startingWith: "key11", limit: 2).map(\.value) == ["500", "501"])
        #expect(try reader.content(startingWith: "key11", limit: 0).isEmpty)
        #expect(try reader.content(startingWith: "key11", from: "key11001", limit: 2).map(\.value) == ["501", "502"])
        #expect(try reader.content(startingWith: "key119").count == 50)
        for prefix in ["key10999", "key11999", "key110000", "kez", "a"] {
            #expect(try reader.content(startingWith: prefix).isEmpty)
        }
    }

    @Test("a reader sees one snapshot until it takes the next", arguments: StoreKind.allCases)
    func snapshots(_ kind: StoreKind) throws {
        let store = try kind.make(in: folder)
        try store.change([("a", "1")], checkpoint: "at 1")
        let reader = try store.makeReader()
        try reader.begin()
        try store.change([("a", "2"), ("b", "2")], checkpoint: "at 2")
        #expect(try reader.content() == [Pair("a", "1")])
        #expect(try reader.checkpoint().map { String(decoding: $0, as: UTF8.self) } == "at 1")
        try reader.begin()
        #expect(try reader.content() == [Pair("a", "2"), Pair("b", "2")])
        #expect(try reader.checkpoint().map { String(decoding: $0, as: UTF8.self) } == "at 2")
    }

    @Test("without a snapshot there is nothing to read", arguments: StoreKind.allCases)
    func noSnapshot(_ kind: StoreKind) throws {
        let store = try kind.make(in: folder)
        try store.change([("a", "1")], checkpoint: "at 1")
        let reader = try store.makeReader()
        #expect(try reader.content().isEmpty)
        try reader.begin()
        reader.end()
        #expect(try reader.text(for: "a") == nil)
        #expect(try reader.checkpoint() == nil)
    }

    @Test("a transaction that throws leaves neither data nor checkpoint", arguments: StoreKind.allCases)
    func rollback(_ kind: StoreKind) throws {
        let store = try kind.make(in: folder)
        try store.change([("a", "1")], checkpoint: "at 1")
        #expect(throws: StoreError.self) {
            try store.write { writer throws(StoreError) in
                try withBytes(of: "a") { key throws(StoreError) in try writer.put(key, key) }
                try writer.removeAll()
                try withBytes(of: "at 2") { bytes throws(StoreError) in try writer.setCheckpoint(bytes) }
                throw StoreError(.system, "on purpose")
            }
        }
        #expect(try store.content() == [Pair("a", "1")])
        #expect(try store.checkpoint() == "at 1")
        try store.change([("b", "2")])
        #expect(try store.content().count == 2)
    }

    @Test("a writer reads its own changes", arguments: StoreKind.allCases)
    func readYourWrites(_ kind: StoreKind) throws {
        let store = try kind.make(in: folder)
        try store.write { writer throws(StoreError) in
            let value = try withBytes(of: "k") { key throws(StoreError) -> String? in
                try writer.put(key, key)
                return try writer.value(for: key).map { String(decoding: $0, as: UTF8.self) }
            }
            #expect(value == "k")
        }
    }

    @Test("emptying removes the entries and the checkpoint", arguments: StoreKind.allCases)
    func removeAll(_ kind: StoreKind) throws {
        let store = try kind.make(in: folder)
        try store.change((0..<500).map { ("\($0)", "x") }, checkpoint: "c")
        try store.write { writer throws(StoreError) in try writer.removeAll() }
        #expect(try store.content().isEmpty)
        #expect(try store.checkpoint() == nil)
    }

    @Test("a key that is empty or too long is refused", arguments: StoreKind.allCases)
    func keys(_ kind: StoreKind) throws {
        let store = try kind.make(in: folder)
        for key in ["", String(repeating: "k", count: 512)] {
            let error = #expect(throws: StoreError.self) { try store.change([(key, "v")]) }
            #expect(error?.kind == .invalidKey)
        }
        try store.change([(String(repeating: "k", count: 511), "v")])
    }

    @Test("it does not close while a reader exists, and does nothing once closed", arguments: StoreKind.allCases)
    func close(_ kind: StoreKind) throws {
        let store = try kind.make(in: folder)
        try store.change([("a", "1")])
        do {
            let reader = try store.makeReader()
            try reader.begin()
            let error = #expect(throws: StoreError.self) { try store.close() }
            #expect(error?.kind == .inUse)
            #expect(try reader.text(for: "a") == "1")
        }
        try store.close()
        #expect(throws: StoreError.closed) { try store.change([("a", "2")]) }
        #expect(throws: StoreError.closed) { _ = try store.makeReader() }
    }

    @Test("readers on other threads see each transaction whole while it is written", arguments: StoreKind.allCases)
    func readersBesideWriter(_ kind: StoreKind) throws {
        let store = try kind.make(in: folder)
        let last = 100
        try store.change([("a", "0"), ("b", "0")])
        let faults = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 4) { worker in
            do {
                if worker == 0 {
                    for number in 1...last { try store.change([("a", "\(number)"), ("b", "\(number)")]) }
                } else {
                    try read(store, until: last)
                }
            } catch {
                faults.withLock { $0.append("worker \(worker): \(error)") }
            }
        }
        #expect(faults.withLock { $0 } == [])
    }

    private func read(_ store: any OrderedStore, until last: Int) throws {
        let reader = try store.makeReader()
        let deadline = ContinuousClock.now + .seconds(60)
        var seen = 0
        while seen < last, .now < deadline {
            try reader.begin()
            let values = [try reader.text(for: "a"), try reader.text(for: "b")].map { $0.flatMap(Int.init) }
            let value = try #require(values[0])
            try #require(values[1] == value)
            try #require(value >= seen)
            seen = value
        }
        try #require(seen == last)
    }

    @Test("no reader begins after a close, even while the close waits for a write", arguments: StoreKind.allCases)
    func closeDuringWrite(_ kind: StoreKind) throws {
        let store = try kind.make(in: folder)
        let closing = DispatchGroup()
        var refusal: StoreError?
        try store.write { _ throws(StoreError) in
            closing.enter()
            // Not a pool's thread, which other tests may keep busy for longer than the deadline.
            Thread.detachNewThread {
                // In use while a reader of the loop below exists.
                while (try? store.close()) == nil {}
                closing.leave()
            }
            let deadline = ContinuousClock.now + .seconds(60)
            while refusal == nil, .now < deadline {
                do throws(StoreError) { _ = try store.makeReader() } catch { refusal = error }
            }
        }
        closing.wait()
        #expect(refusal == .closed)
    }

    @Test("random changes give the same as in a dictionary", arguments: StoreKind.allCases, [7, 2_026] as [UInt64])
    func model(_ kind: StoreKind, seed: UInt64) throws {
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let store = try kind.make(in: folder)
        var model: [String: String] = [:]
        for step in 0..<60 {
            var changes: [(String, String?)] = []
            for _ in 0..<Int.random(in: 1...80, using: &random) {
                let key = "key-\(Int.random(in: 0..<900, using: &random))"
                let value =
                    Int.random(in: 0..<3, using: &random) == 0
                    ? nil : String(repeating: "v", count: Int.random(in: 0...700, using: &random))
                changes.append((key, value))
                model[key] = value
            }
            try store.change(changes, checkpoint: "step \(step)")
        }
        let expected = model.sorted { Array($0.key.utf8).lexicographicallyPrecedes(Array($1.key.utf8)) }
        #expect(try store.content() == expected.map { Pair($0.key, $0.value) })
        #expect(try store.checkpoint() == "step 59")
    }
}
