import Hosting
import Pipeline
import Synchronization
import Testing

@testable import API

/// What was asked and what became of it, in its order.
private final class Decided: Sendable {
    private let found = Mutex<[String]>([])
    var all: [String] { found.withLock { $0 } }

    func note(_ text: String) { found.withLock { $0.append(text) } }

    /// - Parameter writes: whether the decision is to write a record.
    func question(
        _ name: String, of id: String = "a", at asked: ContinuousClock.Instant, size: Int = 0, writes: Bool = true
    ) -> BroadcastDecisions.Question {
        .init(id: id, asked: asked, deadline: asked + .seconds(3), size: size) { record in
            self.note("\(name) \(record.map { "\($0.offset)" } ?? "none")")
            return writes
        } giveUp: {
            self.note("\(name) given up")
        }
    }
}

@Suite("API: decisions of broadcasts") struct BroadcastDecisionsTests {
    private let decisions = BroadcastDecisions()
    private let decided = Decided()
    private let start = ContinuousClock.now

    private func second(_ number: Double) -> ContinuousClock.Instant { start + .seconds(number) }

    /// - Parameter fresh: nil: it has never been known.
    private func view(_ offsets: [(String, Int64)] = [], fresh: Double?) -> BroadcastView {
        BroadcastView(
            records: offsets.map { BroadcastRecord(offset: $1, timestamp: nil, key: Array($0.utf8), value: []) },
            freshSince: fresh.map(second))
    }

    @Test("a question is decided by a view that was asked for after it, and by none before")
    func fresh() {
        #expect(decisions.ask(decided.question("put", at: second(1))))
        decisions.look(view(fresh: nil), now: second(1.2))
        decisions.look(view([("a", 7)], fresh: 0.9), now: second(1.2))
        #expect(decided.all.isEmpty)
        decisions.look(view([("a", 7), ("b", 8), ("a", 9)], fresh: 1), now: second(1.3))
        #expect(decided.all == ["put 9"])
    }

    @Test(
        "the next question of an id waits for the record of the one before, and for a view that has it; another id does not"
    )
    func order() {
        #expect(decisions.ask(decided.question("first", at: second(1))))
        #expect(decisions.ask(decided.question("second", at: second(1))))
        #expect(decisions.ask(decided.question("other", of: "b", at: second(1))))
        decisions.look(view(fresh: 1), now: second(1))
        #expect(decided.all == ["first none", "other none"])
        decisions.look(view(fresh: 1.5), now: second(1.5))
        decisions.settle("a", at: second(2))
        decisions.look(view(fresh: 1.9), now: second(2))
        #expect(decided.all.count == 2)
        decisions.look(view([("a", 4)], fresh: 2), now: second(2.1))
        #expect(decided.all.last == "second 4")
    }

    @Test("a decision that writes nothing leaves the id to the next one")
    func nothing() {
        #expect(decisions.ask(decided.question("first", at: second(1), writes: false)))
        #expect(decisions.ask(decided.question("second", at: second(1))))
        for _ in 0..<2 { decisions.look(view(fresh: 1), now: second(1)) }
        #expect(decided.all == ["first none", "second none"])
    }

    @Test(
        "what is not known in time is given up and never decided; so is what waits at the end, and nothing is taken then"
    )
    func givenUp() {
        #expect(decisions.ask(decided.question("late", at: second(1))))
        decisions.look(view(fresh: 0), now: second(4))
        decisions.look(view(fresh: 5), now: second(5))
        #expect(decided.all == ["late given up"])
        #expect(decisions.ask(decided.question("last", at: second(1))))
        let host = RoleHost()
        host.drain()
        decisions.run(on: host) { view(fresh: 5) }
        #expect(decided.all == ["late given up", "last given up"])
        #expect(!decisions.ask(decided.question("after", at: second(1))))
    }

    @Test("so many bytes wait, and no more")
    func mostBytes() {
        let half = BroadcastDecisions.mostBytes / 2
        #expect(decisions.ask(decided.question("one", at: second(1), size: half)))
        #expect(!decisions.ask(decided.question("two", at: second(1), size: half + 1)))
        #expect(decisions.ask(decided.question("three", at: second(1), size: half)))
        decisions.look(view(fresh: 1), now: second(1))
        #expect(decisions.ask(decided.question("four", of: "b", at: second(1), size: half)))
    }

    @Test("so many wait, and no more")
    func most() {
        for _ in 0..<BroadcastDecisions.mostWaiting { #expect(decisions.ask(decided.question("one", at: second(1)))) }
        #expect(!decisions.ask(decided.question("one", at: second(1))))
    }
}
