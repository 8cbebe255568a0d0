import CarillonTesting
import Digests
import Notifications
import Pipeline
import Testing

@testable import Replay

@Suite("A re-drive of what was not delivered")
struct UndeliveredTests {
    /// Orders 1 to n, of which one device gets a push each.
    private func toy(_ count: Int) throws -> ToyPipeline {
        var toy = try ToyPipeline { $0.rendering.timeToLive = .seconds(3_600) }
        try toy.subscribe("token-1", to: "p1")
        for order in 1...count {
            toy.pass(ToyPipeline.minute)
            let value = """
                {"event_id":"e\(order)","event_type":"ORDER_CREATED","occurred_at":\(toy.clock.milliseconds),"order":{"id":"o\(order)",\
                "order_number":"N\(order)","place_id":"p1","status":"pending"}}
                """
            toy.append(SampleRecord(key: "o\(order)", value: value), to: 0)
            try toy.transact([10, 10, 10])
        }
        return toy
    }

    private func index(_ records: [RenderedRecord]) throws -> DispatchIndex {
        let index = try DispatchIndex(Scratch(), topics: ToyPipeline.topics)
        for (offset, record) in records.enumerated() {
            try record.withDispatchRecord {
                try index.append($0, at: Coordinates(partition: 0, offset: Int64(offset)))
            }
        }
        return index
    }

    /// The outcomes of records of the dispatch topic, by their offsets there.
    private func outcomes(
        _ records: [RenderedRecord], _ ends: [Int: DeliveryOutcome], topic: String = "notifications.dispatch"
    ) throws -> DeliveredPushes {
        let outcomes = try DeliveredPushes(topic: "notifications.dispatch", Scratch())
        for (offset, end) in ends {
            var record = DeliveryRecord.sample(
                end, at: Int64(offset), messageID: records[offset].header("message-id") ?? "",
                device: String(decoding: records[offset].key, as: UTF8.self))
            record.topic = topic
            try outcomes.append(record)
        }
        return outcomes
    }

    private func select(
        _ toy: borrowing ToyPipeline, _ records: [RenderedRecord], _ outcomes: DeliveredPushes, now: WallTime? = nil
    ) throws -> (plan: RedrivePlan, entries: [RedriveList.Entry]) {
        let run = try ReplayRun(toy)
        let input = try run.plan(toy)
        var rules = RedriveRules()
        rules.selected = input.ranges
        rules.choice = .undelivered
        rules.now = now ?? toy.clock
        rules.maxAge = 365 * 86_400_000
        let list = try RedriveList(Scratch())
        let sink = try run.perform(
            toy, input, into: RedriveSink(rules, toy.configuration, list: list, Scratch()))
        let plan = try sink.finish(dispatched: index(records), outcomes: outcomes)
        return (plan, try list.next(after: [], limit: .max))
    }

    @Test("refused and given up are sent again, byte for byte; each other outcome and none is left out by its reason")
    func choice() throws {
        let toy = try toy(7)
        let sent = Array(toy.pushes[..<6])
        let found = try select(
            toy, sent,
            outcomes(sent, [0: .refused, 1: .gaveUp, 2: .accepted, 3: .expired, 4: .deadDevice]))
        #expect(found.entries.map(\.record) == [toy.pushes[0], toy.pushes[1]] && found.plan.remaining == 2)
        #expect(found.plan.omitted == [.settled: 3, .noOutcome: 1, .notDispatched: 1])
    }

    @Test("what is past its expires-at is not sent again")
    func expired() throws {
        let toy = try toy(2)
        let expiry = try toy.pushes[0].withDispatchRecord { try $0.expiresAt }
        let ends = try outcomes(toy.pushes, [0: .refused, 1: .gaveUp])
        let found = try select(toy, toy.pushes, ends, now: expiry)
        #expect(found.entries.map(\.record) == [toy.pushes[1]] && found.plan.omitted == [.expired: 1])
        let before = try select(toy, toy.pushes, outcomes(toy.pushes, [0: .refused, 1: .gaveUp]), now: expiry - 1)
        #expect(before.plan.remaining == 2)
    }

    @Test("a push that a re-drive sent before is sent once more only if its copy was refused, too")
    func copies() throws {
        let toy = try toy(1)
        var copy = toy.pushes[0]
        copy.headers.append(.init("replay", Array("before".utf8)))
        let records = [toy.pushes[0], copy]
        let cases: [([Int: DeliveryOutcome], RedriveOmission?)] = [
            ([0: .refused], .noOutcome), ([0: .refused, 1: .accepted], .settled), ([0: .refused, 1: .gaveUp], nil),
        ]
        for (ends, reason) in cases {
            let found = try select(toy, records, outcomes(records, ends))
            #expect(found.plan.omitted == (reason.map { [$0: 1] } ?? [:]), "\(ends)")
            #expect(found.plan.remaining == (reason == nil ? 1 : 0), "\(ends)")
        }
    }

    @Test("a message that the device has got from another event's record is not sent again")
    func otherSource() throws {
        let toy = try toy(1)
        var moved = toy.pushes[0]
        for index in moved.headers.indices where moved.headers[index].name == "source" {
            moved.headers[index].value = Array("dc1.orders.events/0/500000".utf8)
        }
        let records = [toy.pushes[0], moved]
        let found = try select(toy, records, outcomes(records, [0: .refused, 1: .accepted]))
        #expect(found.plan.omitted == [.settled: 1] && found.plan.remaining == 0)
    }

    @Test("outcomes of another dispatch topic do not count")
    func otherTopic() throws {
        let toy = try toy(1)
        let found = try select(toy, toy.pushes, outcomes(toy.pushes, [0: .refused], topic: "another"))
        #expect(found.plan.omitted == [.noOutcome: 1])
    }

    @Test("while it sends: what the plan knew is sent again, and what another re-drive has sent since is not")
    func sentMeanwhile() throws {
        let toy = try toy(2)
        let run = try ReplayRun(toy)
        let input = try run.plan(toy)
        var rules = RedriveRules()
        rules.selected = input.ranges
        rules.choice = .undelivered
        rules.now = toy.clock
        let list = try RedriveList(Scratch())
        let dispatched = try index(toy.pushes)
        let sink = try run.perform(
            toy, input, into: RedriveSink(rules, toy.configuration, list: list, Scratch()))
        _ = try sink.finish(
            dispatched: dispatched, outcomes: outcomes(toy.pushes, [0: .refused, 1: .refused]))
        let news = try RedriveNews(
            rules, toy.configuration, planned: input.ranges.mapValues(\.upperBound), table: [9, 9],
            dispatched: dispatched, newFrom: [0: 2], subscriptions: run.history, scratch: Scratch())
        let entries = try list.next(after: [], limit: .max)
        #expect(try entries.map { try news.reason(against: $0, now: toy.clock) } == [nil, nil])
        var copy = toy.pushes[1]
        copy.headers.append(.init("replay", Array("another".utf8)))
        try copy.withDispatchRecord { try news.note($0, at: Coordinates(partition: 0, offset: 2)) }
        #expect(try entries.map { try news.reason(against: $0, now: toy.clock) } == [nil, .alreadySent])
        var own = toy.pushes[0]
        own.headers.append(.init("replay", Array("own".utf8)))
        try own.withDispatchRecord { try news.note($0, at: Coordinates(partition: 0, offset: 3)) }
        #expect(
            try entries.map { try news.verdict(on: $0, by: "own", now: toy.clock) } == [.sent, .leaveOut(.alreadySent)])
    }
}
