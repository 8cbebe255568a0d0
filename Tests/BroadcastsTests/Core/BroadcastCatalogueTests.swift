import Notifications
import Pipeline
import Testing

@testable import Broadcasts

@Suite("The broadcasts that are known")
struct BroadcastCatalogueTests {
    private func catalogue(_ log: TestBroadcasts, _ body: (inout BroadcastCatalogue) throws -> Void) rethrows {
        var catalogue = BroadcastCatalogue(topic: "broadcasts", settings: RenderSettings())
        catalogue.update(log.records(below: log.end), reached: log.end)
        try body(&catalogue)
    }

    private let log: TestBroadcasts = {
        var log = TestBroadcasts()
        log.append("expired", .published(audience: "channel/a", lifetime: 5), at: 100)
        log.append("cancelled", .published(audience: "channel/a", lifetime: 1_000), at: 100)
        log.append("replaced", .published(audience: "channel/a", lifetime: 1_000), at: 100)
        log.append("cancelled", .cancelled, at: 101)
        log.append("unreadable", .unreadable, at: 102)
        log.append("replaced", .published(audience: "channel/a", lifetime: 1_000), at: 103)
        log.append("other", .published(audience: "channel/b", lifetime: 1_000), at: 104)
        return log
    }()

    @Test("those that are the newest of their id are there, in the order of the log")
    func newest() {
        catalogue(log) { catalogue in
            #expect(catalogue.broadcasts.map(\.offset) == [0, 4, 5, 6] && catalogue.reached == 7)
            #expect((0..<8).map { catalogue.broadcast(at: $0)?.offset } == [0, nil, nil, nil, 4, 5, 6, nil])
            #expect((0..<8).map { catalogue.first(from: $0)?.offset } == [0, 4, 4, 4, 4, 5, 6, nil])
        }
    }

    @Test("without broadcasts there is none")
    func empty() {
        catalogue(TestBroadcasts()) { catalogue in
            #expect(catalogue.first(from: 0) == nil && catalogue.broadcast(at: 0) == nil)
            #expect(catalogue.late(ChannelHash(of: "channel/a"), below: .max, clock: 0, limit: 10).isEmpty)
            #expect(catalogue.oldestValid(clock: 0) == 0)
        }
    }

    @Test("a joiner's are those of its channel, below an offset, that have not expired")
    func late() {
        catalogue(log) { catalogue in
            func late(_ audience: String, below: Int64 = 7, clock: WallTime = 104) -> [Int64] {
                catalogue.late(ChannelHash(of: audience), below: below, clock: clock, limit: 10).map(\.offset)
            }
            #expect(late("channel/a") == [0, 5] && late("channel/b") == [6] && late("channel/c") == [])
            #expect(late("channel/a", below: 5) == [0] && late("channel/b", below: 6) == [])
            #expect(late("channel/a", clock: 105) == [5] && late("channel/a", clock: 1_103) == [])
        }
    }

    @Test("a first start begins at the end, or with the oldest that has not expired")
    func firstStart() {
        catalogue(log) { catalogue in
            #expect(catalogue.oldestValid(clock: 104) == 0)
            #expect(catalogue.oldestValid(clock: 105) == 5)
            #expect(catalogue.oldestValid(clock: 2_000) == 7)
        }
    }

    @Test("what was known stays the same object, what is cancelled meanwhile goes")
    func update() {
        var log = log
        catalogue(log) { catalogue in
            let before = catalogue.broadcast(at: 5)
            log.append("other", .cancelled, at: 105)
            catalogue.update(log.records(below: log.end), reached: log.end)
            #expect(catalogue.broadcast(at: 5) === before && catalogue.broadcast(at: 6) == nil)
            #expect(catalogue.late(ChannelHash(of: "channel/b"), below: 8, clock: 0, limit: 1).isEmpty)
            #expect(catalogue.reached == 8)
        }
    }

    @Test("one that is too large to be sent is known as such before anything is sent")
    func tooLarge() throws {
        var log = TestBroadcasts()
        log.append("1", .published(audience: "channel/a", lifetime: 1_000), at: 100)
        var record = try #require(log.records(below: 1).first)
        let data = String(repeating: "x", count: 5_000)
        record.value =
            Array(String(decoding: record.value, as: UTF8.self).dropLast().utf8) + Array(#","data":"\#(data)"}"#.utf8)
        catalogue(TestBroadcasts()) { catalogue in
            catalogue.update([record], reached: 1)
            guard case .failed(let letter)? = catalogue.broadcast(at: 0)?.content else {
                Issue.record("it was accepted")
                return
            }
            #expect(letter.code.label == "payload_too_large")
            #expect(catalogue.late(ChannelHash(of: "channel/a"), below: 1, clock: 0, limit: 1).isEmpty)
        }
    }

    @Test("a batch that could not be read is a dead letter without key and value")
    func unreadable() {
        let letter = DeadLetter.unreadableBatch(3...7, "bad")
        catalogue(TestBroadcasts()) { catalogue in
            catalogue.update(
                [BroadcastRecord(offset: 7, timestamp: nil, key: [], value: [], unreadable: letter)], reached: 8)
            guard let stored = catalogue.broadcast(at: 7), case .failed(let found) = stored.content else {
                Issue.record("it was accepted")
                return
            }
            #expect(found == letter && stored.record.key == nil && stored.record.value == nil)
        }
    }

    @Test("a broadcast keeps its bytes, with its headers")
    func bytes() throws {
        let record = BroadcastRecord(
            offset: 3, timestamp: nil, key: Array("k".utf8), value: Array("v".utf8),
            headers: [.init("a", Array("1".utf8)), .init("b", nil)])
        let stored = StoredBroadcast(record) { _, _ in .failed(.cancelledNothing) }
        #expect(stored.offset == 3 && stored.record.offset == 3 && stored.record.timestamp == nil)
        #expect(stored.record.key.map(Array.init) == Array("k".utf8))
        #expect(stored.record.value.map(Array.init) == Array("v".utf8))
        #expect(stored.headers.map { String(decoding: $0.name, as: UTF8.self) } == ["a", "b"])
        #expect(stored.headers.map { $0.value.map(Array.init) } == [Array("1".utf8), nil])
    }
}
