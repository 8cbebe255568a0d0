import Pipeline
import Testing

@testable import Replay

@Suite("A re-drive knows the messages that devices have, whatever their source")
struct SentPushesTests {
    private func index(_ records: [RenderedRecord], _ sent: SentPushes? = nil) throws -> DispatchIndex {
        let index = try DispatchIndex(Scratch(), topics: ToyPipeline.topics, sent: sent)
        for (offset, record) in records.enumerated() {
            try record.withDispatchRecord { record in
                try index.append(
                    record, at: Coordinates(partition: 0, offset: Int64(offset)),
                    within: [0: 0..<1_000, 1: 0..<1_000, 2: 0..<1_000])
            }
        }
        return index
    }

    @Test(
        "a push that stands in the dispatch topic under another source is left out and told", arguments: UInt64(50)..<52
    )
    func otherSource(seed: UInt64) throws {
        let toy = try ToyPipeline.lived(seed: seed)
        let run = try ReplayRun(toy)
        let input = try run.plan(toy)
        var rules = RedriveRules()
        rules.selected = input.ranges
        rules.maxAge = .max
        func plan(_ dispatched: DispatchIndex) throws -> RedrivePlan {
            let list = try RedriveList(Scratch())
            return try run.perform(
                toy, input, into: RedriveSink(rules, toy.configuration, list: list, Scratch())
            ).finish(dispatched: dispatched)
        }
        // As a mirror copies them: at other offsets, and from a topic that may have another name.
        var moved = toy.pushes
        for at in moved.indices {
            let source = "\(at % 2 == 0 ? "orders.events" : "dc1.orders.events")/0/\(500_000 + at)"
            for header in moved[at].headers.indices where moved[at].headers[header].name == "source" {
                moved[at].headers[header].value = Array(source.utf8)
            }
        }
        let missed = try plan(index(moved))
        #expect(missed.remaining > 50 && missed.omitted[.otherSource] == nil, "seed \(seed)")
        let known = try plan(index(moved, SentPushes(Scratch())))
        #expect(known.remaining == 0 && known.omitted[.otherSource] == missed.remaining, "seed \(seed)")
        let some = Array(moved[..<(moved.count / 2)])
        let half = try plan(index(some, SentPushes(Scratch())))
        #expect(
            half.remaining > 0 && half.remaining + (half.omitted[.otherSource] ?? 0) == missed.remaining, "seed \(seed)"
        )
        // A record with the pipeline's own source counts as such.
        let own = try plan(index(toy.pushes, SentPushes(Scratch())))
        #expect(own.omitted[.otherSource] == nil && own.omitted[.alreadySent] == missed.remaining, "seed \(seed)")
    }
}
