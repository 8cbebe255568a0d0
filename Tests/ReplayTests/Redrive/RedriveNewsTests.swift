import CarillonTesting
import Digests
import Notifications
import Pipeline
import TestSupport
import Testing

@testable import Registrar
@testable import Replay

/// ADR 36: what came after a plan, and which of its pushes must therefore not be sent.
@Suite struct RedriveNewsTests {
    private static let hour: Int64 = 3_600_000

    /// A plan over everything that a toy pipeline has done, with two devices at p1 and one at p2.
    private struct Planned {
        var run: ReplayRun
        var entries: [RedriveList.Entry]
        var news: RedriveNews
        var now: WallTime

        func reasons(at now: WallTime? = nil) throws -> [RedriveOmission?] {
            try entries.map { try news.reason(against: $0, now: now ?? self.now) }
        }
    }

    private func toy(_ adjust: (inout PipelineConfiguration) -> Void = { _ in }) throws -> ToyPipeline {
        var toy = try ToyPipeline {
            $0.rendering.timeToLive = .seconds(4 * 3_600)
            adjust(&$0)
        }
        try toy.subscribe("token-1", to: "p1")
        try toy.subscribe("token-2", to: "p1")
        try toy.subscribe("token-3", to: "p2")
        try Self.happen(&toy, "o1", id: "a")
        try Self.happen(&toy, "o2", place: "p2", id: "b")
        return toy
    }

    /// An event, and the transaction that processes it.
    private static func happen(
        _ toy: inout ToyPipeline, _ order: String, place: String = "p1", id: String, type: String = "ORDER_CREATED",
        status: String = "pending", slot: String = ""
    ) throws {
        toy.pass(ToyPipeline.minute)
        let value = """
            {"event_id":"\(id)","event_type":"\(type)","occurred_at":\(toy.clock.milliseconds),"order":{"id":"\(order)",\
            "place_id":"\(place)","status":"\(status)"\(slot)}}
            """
        toy.append(SampleRecord(key: order, value: value), to: 0)
        try toy.transact([10, 10, 10])
    }

    /// - Parameter dispatched: nil: pushes already sent do not matter.
    private func plan(
        _ toy: borrowing ToyPipeline, dispatched: DispatchIndex? = nil, table: [Int64]? = nil
    ) throws -> Planned {
        let run = try ReplayRun(toy)
        let input = try run.plan(toy)
        var rules = RedriveRules()
        rules.selected = input.ranges
        rules.now = toy.clock
        let list = try RedriveList(Scratch())
        let sink = try run.perform(
            toy, input, into: RedriveSink(rules, toy.configuration, list: list, Scratch()))
        _ = try sink.finish(dispatched: dispatched)
        let news = try RedriveNews(
            rules, toy.configuration, planned: input.ranges.mapValues(\.upperBound),
            table: table ?? (0..<2).map { partition in Int64(toy.subscriptions.count { $0.partition == partition }) },
            dispatched: dispatched, subscriptions: run.history, scratch: Scratch())
        return Planned(run: run, entries: try list.next(after: [], limit: .max), news: news, now: toy.clock)
    }

    /// Passes the events from an offset on.
    private func follow(_ toy: borrowing ToyPipeline, from offset: Int, _ planned: Planned) throws {
        let batch = toy.batch(0, offset..<toy.logs[0].count)
        for record in batch.records { try planned.news.note(record, of: batch) }
    }

    private func note(_ record: RenderedRecord, _ planned: Planned) throws {
        try record.withDispatchRecord { record in
            try planned.news.note(
                record, at: Coordinates(partition: 0, offset: 1_000))
        }
    }

    @Test("a newer event of an order at its place replaces what is on the list, and nothing of another order or place")
    func newerEvent() throws {
        var toy = try toy()
        let planned = try plan(toy)
        #expect(try planned.entries.count == 3 && planned.reasons() == [nil, nil, nil])
        try Self.happen(&toy, "o1", place: "p2", id: "c", type: "ORDER_STATUS_CHANGED", status: "picking")
        try Self.happen(&toy, "o9", id: "d")
        try follow(toy, from: 2, planned)
        #expect(try planned.reasons() == [nil, nil, nil])
        try Self.happen(&toy, "o1", id: "e", type: "ORDER_STATUS_CHANGED", status: "picking")
        try follow(toy, from: 4, planned)
        #expect(try planned.reasons() == [.replaced, .replaced, nil])
    }

    @Test("a repeated event, a dead letter, or an event that a timer announces, replaces nothing")
    func noNews() throws {
        var toy = try toy()
        let planned = try plan(toy)
        toy.append(toy.logs[0][0], to: 0)
        toy.append(SampleRecord(key: "o1", value: "no JSON"), to: 0)
        try Self.happen(&toy, "o1", id: "t", type: "TIMESLOT_STARTED")
        try follow(toy, from: 2, planned)
        #expect(try planned.reasons() == [nil, nil, nil])
        var unscheduled = try self.toy { $0.orders.schedule = nil }
        let second = try plan(unscheduled)
        try Self.happen(&unscheduled, "o1", id: "t", type: "TIMESLOT_STARTED")
        try follow(unscheduled, from: 2, second)
        #expect(try second.reasons() == [.replaced, .replaced, nil])
    }

    @Test("an event without a type replaces, whatever the status of its order was")
    func snapshot() throws {
        let configure: (inout PipelineConfiguration) throws -> Void = {
            $0.rules = try ExtractionRules(timeZone: "Europe/Berlin", infersStatusChanges: true)
        }
        var toy = try ToyPipeline(configure)
        try toy.subscribe("token-1", to: "p1")
        try Self.happen(&toy, "o1", id: "a")
        let planned = try plan(toy)
        toy.append(
            SampleRecord(key: "o1", value: #"{"id":"o1","place_id":"p1","status":"picking"}"#), to: 0)
        try follow(toy, from: 1, planned)
        #expect(try planned.reasons() == [.replaced])
    }

    @Test("a push of the pipeline replaces what is on the list, a timer's too; one from before the plan's end does not")
    func newerPush() throws {
        var toy = try toy()
        let start = toy.clock + 5 * ToyPipeline.minute
        let time = (start + 2 * Self.hour).iso8601
        // Berlin's clock in summer.
        let slot = """
            ,"shipping_info":{"slot":{"date":"\(time.prefix(10))","start_time":"\(time.dropFirst(11).prefix(5))",\
            "end_time":"23:45"}}
            """
        try Self.happen(&toy, "o1", id: "s", type: "ORDER_STATUS_CHANGED", status: "processing", slot: slot)
        let planned = try plan(toy)
        let before = toy.pushes.count
        for record in toy.pushes { try note(record, planned) }
        #expect(try planned.reasons() == [nil, nil, nil])
        toy.pass(10 * ToyPipeline.minute)
        try toy.transact([0, 0, 0], ticks: [0])
        let timer = try #require(toy.pushes[before...].first)
        #expect(timer.header("source")?.hasPrefix("schedule/") == true)
        try note(timer, planned)
        let reasons = try planned.reasons()
        #expect(reasons.filter { $0 == .replaced }.count == 2 && reasons.filter { $0 == nil }.count == 1)
    }

    @Test("a push that another re-drive has sent since is not sent again, and by --include-sent is")
    func sentMeanwhile() throws {
        let toy = try toy()
        let index = try DispatchIndex(Scratch(), topics: ToyPipeline.topics)
        let planned = try plan(toy, dispatched: index)
        let again = try plan(toy)
        var record = planned.entries[0].record
        record.headers.append(.init("replay", Array("another".utf8)))
        try note(record, planned)
        try note(record, again)
        #expect(try planned.reasons() == [.alreadySent, nil, nil])
        #expect(try again.reasons() == [nil, nil, nil])
    }

    @Test("a device that unsubscribes from the place is left out, and is back when it subscribes again; others stay")
    func unsubscribed() throws {
        var toy = try toy()
        let planned = try plan(toy)
        let known = toy.subscriptions.count
        try toy.subscribe("token-1", to: "p1", app: nil)
        try toy.subscribe("token-1", to: "p2")
        func follow(_ toy: borrowing ToyPipeline, from index: Int) throws {
            for change in toy.subscriptions[index...] {
                try ToyPipeline.withRecord(change) { try planned.news.note($0, at: change.time) }
            }
        }
        try follow(toy, from: known)
        #expect(try planned.reasons().filter { $0 == .unsubscribed }.count == 1)
        #expect(try planned.reasons().filter { $0 == nil }.count == 2)
        try toy.subscribe("token-1", to: "p1")
        try follow(toy, from: known + 2)
        #expect(try planned.reasons() == [nil, nil, nil])
    }

    @Test(
        "§5.4: who unsubscribes from an audience that the settings name is left out, too; also where a list names several"
    )
    func unsubscribedCustomer() throws {
        var toy = try ToyPipeline {
            $0.rendering.timeToLive = .seconds(4 * 3_600)
            $0.rules = try ExtractionRules(
                audiences: AudienceTemplates(AudienceTemplate.list("place/{place_id},user/{customer_id}")))
        }
        try toy.subscribe("staff", to: "p1")
        for user in ["1", "2"] { try toy.subscribe("customer", toAudience: "user/\(user)") }
        let orders = (1...2).map { #"{"id":"o\#($0)","place_id":"p1","customer_id":\#($0)}"# }.joined(separator: ",")
        let list = #"{"event_id":"l","event_type":"ORDER_IDS_LISTED","orders":[\#(orders)]}"#
        toy.append(SampleRecord(key: "l", value: list), to: 0)
        try toy.transact([10, 10, 10])
        let planned = try plan(toy)
        #expect(try planned.reasons() == [nil, nil, nil, nil])
        let known = toy.subscriptions.count
        try toy.subscribe("customer", toAudience: "user/1", app: nil)
        for change in toy.subscriptions[known...] {
            try ToyPipeline.withRecord(change) { try planned.news.note($0, at: change.time) }
        }
        let gone = try zip(planned.entries, planned.reasons()).filter { $0.1 == .unsubscribed }.map(\.0.audiences)
        #expect(gone == [["place/p1", "user/1"]])
    }

    @Test("what is to an address, or of a person, that is erased while the re-drive sends is left out")
    func erased() throws {
        let planned = try plan(try toy())
        let erasure = Erasure(PersonHash("17"), at: planned.now, addresses: [AddressHash(of: "token-1"): planned.now])
        planned.news.noteErasure(key: Array(erasure.person.hex.utf8), value: erasure.json)
        let reasons = try planned.entries.map { entry in
            (
                String(decoding: entry.record.key, as: UTF8.self),
                try planned.news.reason(against: entry, now: planned.now)
            )
        }
        let isToken1 = { $0 == AddressHash(of: "token-1").hex }
        #expect(
            reasons.count == 3 && reasons.allSatisfy { ($1 == .erased) == isToken1($0) && ($1 == nil) != isToken1($0) })
    }

    @Test("a device that left before the re-drive was planned is still sent; one that left between two runs is not")
    func leftBefore() throws {
        var toy = try toy()
        let table = (0..<2).map { partition in Int64(toy.subscriptions.count { $0.partition == partition }) }
        try toy.subscribe("token-3", to: "p2", app: nil)
        #expect(try plan(toy).reasons() == [nil, nil, nil])
        #expect(try plan(toy, table: table).reasons() == [nil, nil, .unsubscribed])
    }

    @Test("of a request: a newer push with its collapse key to the same device replaces it, and nothing else does")
    func newerRequest() throws {
        var toy = try ToyPipeline { $0.maxDevicesPerEvent = 10 }
        for user in ["1", "2"] { try toy.subscribe("token-\(user)", toAudience: "user/\(user)") }
        func ask(_ id: String, _ audience: String, _ key: String?, _ toy: inout ToyPipeline) throws {
            toy.pass(ToyPipeline.minute)
            let key = key.map { #","collapse_key":"\#($0)""# } ?? ""
            let value =
                #"{"request_id":"\#(id)","requested_at":\#(toy.clock.milliseconds),"audience":\#(audience)\#(key),"message":{"title":"T"}}"#
            toy.ask(SampleRecord(value: value))
            try toy.transact([0, 0, 0], requests: [9])
        }
        try ask("a", #"["user/1","user/2"]"#, "score", &toy)
        try ask("b", #""user/1""#, nil, &toy)
        let planned = try plan(toy)
        #expect(try planned.entries.count == 3 && planned.reasons() == [nil, nil, nil])
        let before = toy.pushes.count
        try ask("c", #""user/1""#, "another", &toy)
        try ask("d", #""user/2""#, nil, &toy)
        for record in toy.pushes[before...] { try note(record, planned) }
        #expect(try planned.reasons() == [nil, nil, nil])
        // From before the plan's end: another re-drive has sent it.
        for record in toy.pushes[..<before] { try note(record, planned) }
        #expect(try planned.reasons() == [nil, nil, nil])
        let last = toy.pushes.count
        try ask("e", #""user/2""#, "score", &toy)
        for record in toy.pushes[last...] { try note(record, planned) }
        let replaced = try planned.entries.filter {
            try planned.news.reason(against: $0, now: planned.now) == .replaced
        }
        #expect(replaced.map { String(decoding: $0.record.key, as: UTF8.self) } == [SHA256.hex(of: "token-2")])
        // One of several audiences is enough.
        let known = toy.subscriptions.count
        try toy.subscribe("token-1", toAudience: "user/1", app: nil)
        for change in toy.subscriptions[known...] {
            try ToyPipeline.withRecord(change) { try planned.news.note($0, at: change.time) }
        }
        #expect(try planned.reasons().filter { $0 == .unsubscribed }.count == 2)
    }

    @Test("expires-at and --max-age count at the clock of the slice, not of the plan")
    func clock() throws {
        let toy = try toy()
        let planned = try plan(toy)
        // The second event is a minute younger.
        let old = toy.clock - ToyPipeline.minute + Self.hour
        #expect(try planned.reasons(at: old) == [nil, nil, nil])
        #expect(try planned.reasons(at: old + 1) == [.tooOld, .tooOld, nil])
        var short = try ToyPipeline { $0.rendering.timeToLive = .seconds(600) }
        try short.subscribe("token-1", to: "p1")
        try Self.happen(&short, "o1", id: "a")
        let expiring = try plan(short)
        #expect(try expiring.reasons(at: short.clock + 599_999) == [nil])
        #expect(try expiring.reasons(at: short.clock + 600_000) == [.expired])
    }
}
