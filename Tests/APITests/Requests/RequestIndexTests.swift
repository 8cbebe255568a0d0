import Digests
import Synchronization
import Testing
import Time

@testable import API

@Suite("API: the requests of the last day") struct RequestIndexTests {
    private let start = WallTime(milliseconds: 1_764_000_000_000)
    private let content = StoredHash(number: 1)

    private func metadata(_ offset: Int64) -> RequestIndex.RecordMetadata {
        .init(partition: 0, offset: offset, time: start)
    }

    @Test("who asks for an id while it is written hears what the first one hears, and later where it is")
    func claims() {
        let index = RequestIndex()
        let heard = Mutex<[RequestIndex.Outcome]>([])
        let hear: @Sendable (RequestIndex.Outcome) -> Void = { outcome in heard.withLock { $0.append(outcome) } }
        #expect(index.claim("a", content, for: [], hear) == .new)
        #expect(index.claim("a", content, for: [], hear) == .underWay)
        #expect(index.claim("a", StoredHash(number: 2), for: [], hear) == .other)
        #expect(index.find("a", for: nil) == nil)
        index.settle("a", .recorded(metadata(7)), at: start)
        #expect(heard.withLock { $0 } == [.recorded(metadata(7)), .recorded(metadata(7))])
        #expect(index.claim("a", content, for: [], hear) == .recorded(metadata(7)))
        #expect(index.claim("a", StoredHash(number: 2), for: [], hear) == .other)
        #expect(index.find("a", for: nil) == metadata(7) && index.find("b", for: nil) == nil)
    }

    @Test("an id that was not recorded, or perhaps, is free again")
    func free() {
        let index = RequestIndex()
        for outcome in [RequestIndex.Outcome.notRecorded, .unknown] {
            #expect(index.claim("a", content, for: []) { _ in } == .new)
            index.settle("a", outcome, at: start)
        }
        #expect(index.claim("a", content, for: []) { _ in } == .new)
    }

    @Test("the first record of an id counts, whoever has written it")
    func first() {
        let index = RequestIndex()
        index.take("a", content, for: [], metadata(1), at: start)
        index.take("a", StoredHash(number: 2), for: [], metadata(2), at: start)
        #expect(index.claim("a", content, for: []) { _ in } == .recorded(metadata(1)))
        #expect(index.claim("b", content, for: []) { _ in } == .new)
        index.take("b", content, for: [], metadata(3), at: start)
        index.settle("b", .recorded(metadata(4)), at: start)
        #expect(index.find("b", for: nil) == metadata(3))
    }

    @Test(
        "of two records of an id in a partition the first one counts, in whatever order they are heard of: it is sent")
    func lower() {
        let index = RequestIndex(mostOfAGeneration: 2)
        let other = StoredHash(number: 2)
        index.take("a", other, for: ["user/2"], metadata(9), at: start)
        index.take("a", content, for: ["user/1"], metadata(8), at: start)
        #expect(index.claim("a", content, for: []) { _ in } == .recorded(metadata(8)))
        index.take("a", other, for: [], .init(partition: 1, offset: 0, time: start), at: start)
        #expect(index.find("a", for: nil) == metadata(8) && index.counts.known == 1)
        // It may be of the older generation.
        for number in 0..<2 { index.take("b\(number)", content, for: [], metadata(100), at: start) }
        index.take("a", other, for: [], metadata(7), at: start)
        #expect(index.claim("a", other, for: []) { _ in } == .recorded(metadata(7)) && index.counts.known == 3)
    }

    @Test(
        "an id is known for a day and forgotten within two; before that only where there are too many, which is counted"
    )
    func forgets() {
        let index = RequestIndex(mostOfAGeneration: 10)
        index.take("a", content, for: [], metadata(0), at: start)
        let day = RequestIndex.generation
        index.take("b", content, for: [], metadata(1), at: start + (day - 1))
        index.take("c", content, for: [], metadata(2), at: start + day)
        #expect(index.find("a", for: nil) != nil)
        index.take("d", content, for: [], metadata(3), at: start + 2 * day)
        #expect(index.find("a", for: nil) == nil && index.find("b", for: nil) == nil)
        #expect(index.find("c", for: nil) != nil)
        #expect(index.counts.forgotten == 0)
        for number in 0..<100 { index.take("\(number)", content, for: [], metadata(4), at: start + 2 * day) }
        #expect(index.counts.known <= 20)
        #expect(index.counts.forgotten + index.counts.known == 102)
        #expect((90..<100).allSatisfy { index.find("\($0)", for: nil) != nil })
    }

    @Test("a key for some audiences finds what is for no others, and nothing that is for too many to remember")
    func audiences() {
        let index = RequestIndex()
        var key = KeyEntry(APIKey(.live), scopes: [.send])
        key.audiences = ["user/*"]
        let long = (0..<70).map { "user/" + String(repeating: "x", count: 1000) + "\($0)" }
        for (id, names) in [("a", ["user/1", "user/2"]), ("b", ["user/1", "place/1"]), ("c", []), ("d", long)] {
            index.take(id, content, for: names, metadata(1), at: start)
            #expect(index.find(id, for: nil) != nil)
            #expect((index.find(id, for: key) != nil) == (id == "a"))
        }
        #expect(index.claim("e", content, for: ["place/1"]) { _ in } == .new)
        index.settle("e", .recorded(metadata(2)), at: start)
        #expect(index.find("e", for: key) == nil && index.find("e", for: nil) != nil)
    }

    @Test("a generation has so many bytes of audiences at most")
    func bytes() {
        let index = RequestIndex(bytes: 1000)
        for number in 0..<100 {
            index.take("\(number)", content, for: [String(repeating: "x", count: 99)], metadata(1), at: start)
        }
        #expect(index.counts.known <= 24 && index.counts.known + index.counts.forgotten == 100)
    }

    @Test("so it has where a record of a lower offset takes another's place")
    func replacedBytes() {
        let index = RequestIndex(bytes: 1000)
        let long = [String(repeating: "x", count: 99)]
        for number in 0..<20 {
            index.take("\(number)", content, for: ["x"], metadata(2), at: start)
            index.take("\(number)", content, for: long, metadata(1), at: start)
        }
        for number in 20...30 { index.take("\(number)", content, for: long, metadata(1), at: start) }
        #expect(index.counts.forgotten > 0)
    }
}
