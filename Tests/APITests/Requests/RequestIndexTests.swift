import Digests
import Synchronization
import Testing
import Time

@testable import API

@Suite("API: the requests of the last day") struct RequestIndexTests {
    private let start = WallTime(milliseconds: 1_764_000_000_000)
    private let content = StoredHash(number: 1)

    private func place(_ offset: Int64) -> RequestIndex.Place { .init(partition: 0, offset: offset, time: start) }

    @Test("who asks for an id while it is written hears what the first one hears, and later where it is")
    func claims() {
        let index = RequestIndex()
        let heard = Mutex<[RequestIndex.Outcome]>([])
        let hear: @Sendable (RequestIndex.Outcome) -> Void = { outcome in heard.withLock { $0.append(outcome) } }
        #expect(index.claim("a", content, hear) == .new)
        #expect(index.claim("a", content, hear) == .underWay)
        #expect(index.claim("a", StoredHash(number: 2), hear) == .other)
        #expect(index.find("a") == nil)
        index.settle("a", .recorded(place(7)), at: start)
        #expect(heard.withLock { $0 } == [.recorded(place(7)), .recorded(place(7))])
        #expect(index.claim("a", content, hear) == .recorded(place(7)))
        #expect(index.claim("a", StoredHash(number: 2), hear) == .other)
        #expect(index.find("a") == place(7) && index.find("b") == nil)
    }

    @Test("an id that was not recorded, or perhaps, is free again")
    func free() {
        let index = RequestIndex()
        for outcome in [RequestIndex.Outcome.notRecorded, .unknown] {
            #expect(index.claim("a", content) { _ in } == .new)
            index.settle("a", outcome, at: start)
        }
        #expect(index.claim("a", content) { _ in } == .new)
    }

    @Test("the first record of an id counts, whoever has written it")
    func first() {
        let index = RequestIndex()
        index.take("a", content, place(1), at: start)
        index.take("a", StoredHash(number: 2), place(2), at: start)
        #expect(index.claim("a", content) { _ in } == .recorded(place(1)))
        #expect(index.claim("b", content) { _ in } == .new)
        index.take("b", content, place(3), at: start)
        index.settle("b", .recorded(place(4)), at: start)
        #expect(index.find("b") == place(3))
    }

    @Test(
        "an id is known for a day and forgotten within two; before that only where there are too many, which is counted"
    )
    func forgets() {
        let index = RequestIndex(mostOfAGeneration: 10)
        index.take("a", content, place(0), at: start)
        let day = RequestIndex.generation
        index.take("b", content, place(1), at: start + (day - 1))
        index.take("c", content, place(2), at: start + day)
        #expect(index.find("a") != nil)
        index.take("d", content, place(3), at: start + 2 * day)
        #expect(index.find("a") == nil && index.find("b") == nil && index.find("c") != nil)
        #expect(index.counts.forgotten == 0)
        for number in 0..<100 { index.take("\(number)", content, place(4), at: start + 2 * day) }
        #expect(index.counts.known <= 20)
        #expect(index.counts.forgotten + index.counts.known == 102)
        #expect((90..<100).allSatisfy { index.find("\($0)") != nil })
    }
}
