import CarillonTesting
import Digests
import JSONReader
import Notifications
import Pipeline
import TestSupport
import Testing

@testable import Registrar
@testable import Replay

@Suite("What a re-drive sends")
struct RedriveTests {
    private static let day: Int64 = 86_400_000

    private struct Selection {
        var plan: RedrivePlan
        var entries: [RedriveList.Entry]
        var records: [RenderedRecord] { entries.map(\.record) }
        func omitted(_ reason: RedriveOmission) -> Int { plan.omitted[reason] ?? 0 }
    }

    /// The list of a re-drive over a dispatch topic that holds these records; nil: what was sent does not matter.
    private func select(
        _ toy: borrowing ToyPipeline, dispatched: [RenderedRecord]?, ranges: [SourcePartition: Range<Int64>]? = nil,
        by id: String = "", piece: Int = 7, erased: SuppressionList = SuppressionList(),
        _ adjust: (inout RedriveRules) -> Void = { _ in }
    ) throws -> Selection {
        let run = try ReplayRun(toy)
        let input = try run.plan(toy)
        var index: DispatchIndex?
        if let dispatched {
            let filled = try DispatchIndex(Scratch(), topics: ToyPipeline.topics)
            for (offset, record) in dispatched.enumerated() {
                try record.withDispatchRecord { record in
                    try filled.append(
                        record, at: Coordinates(partition: 0, offset: Int64(offset)))
                }
            }
            index = filled
        }
        var rules = RedriveRules()
        rules.selected = ranges ?? input.ranges
        rules.now = toy.clock
        rules.maxAge = 365 * Self.day
        adjust(&rules)
        let list = try RedriveList(Scratch())
        let sink = try run.perform(
            toy, input, piece: piece,
            into: RedriveSink(rules, toy.configuration, list: list, Scratch(), erased: erased))
        let plan = try sink.finish(dispatched: index, by: id)
        return Selection(plan: plan, entries: try list.next(after: [], limit: .max))
    }

    /// One device at place p1, and events of order 1 there, a minute apart, each in a transaction of its own.
    private func toy(_ statuses: [String?], orders: [Int]? = nil) throws -> ToyPipeline {
        // Nothing expires unless a test wants it.
        var toy = try ToyPipeline { $0.rendering.timeToLive = .seconds(20 * 86_400) }
        try toy.subscribe("token-1", to: "p1")
        for (index, status) in statuses.enumerated() {
            toy.pass(ToyPipeline.minute)
            let order = orders?[index] ?? 1
            let type = status == nil ? "ORDER_CREATED" : "ORDER_STATUS_CHANGED"
            let value = """
                {"event_id":"e\(index)","event_type":"\(type)","occurred_at":\(toy.clock.milliseconds),"order":{"id":"o\(order)",\
                "order_number":"N\(order)","place_id":"p1","status":"\(status ?? "pending")"}}
                """
            toy.append(SampleRecord(key: "o\(order)", value: value), to: 0)
            try toy.transact([10, 10, 10])
        }
        return toy
    }

    @Test("of an order only the latest notification is sent")
    func collapse() throws {
        let toy = try toy([nil, "processing", "picking"], orders: [1, 1, 2])
        let sent = toy.pushes
        let found = try select(toy, dispatched: [])
        #expect(found.records == [sent[1], sent[2]])
        #expect(found.omitted(.replaced) == 1 && found.plan.remaining == 2 && found.plan.plan.notifications == 2)
    }

    @Test("where the latest was sent and an earlier one was missed, nothing is sent")
    func collapseBeforeSkip() throws {
        let toy = try toy([nil, "processing"])
        let sent = toy.pushes
        let found = try select(toy, dispatched: [sent[1]])
        #expect(found.records.isEmpty)
        #expect(found.omitted(.replaced) == 1 && found.omitted(.alreadySent) == 1)
    }

    @Test("a later notification that is not selected, by range or filter, still replaces")
    func collapseBeyondSelection() throws {
        let toy = try toy([nil, "processing"])
        let range = try select(toy, dispatched: [], ranges: [0: 0..<1])
        #expect(range.records.isEmpty && range.omitted(.replaced) == 1)
        let filter = try select(toy, dispatched: []) { $0.filter.types = ["event_order_created"] }
        #expect(filter.records.isEmpty && filter.omitted(.replaced) == 1)
        let other = try select(toy, dispatched: []) { $0.filter.types = ["event_order_status_changed"] }
        #expect(other.records == [toy.pushes[1]])
    }

    @Test("what is to an address that was erased after it is not sent, and replaces what is older all the same")
    func erased() throws {
        let toy = try toy([nil, "processing", "picking"], orders: [1, 1, 2])
        let times = toy.logs[0].compactMap(\.timestamp)
        let found = try select(toy, dispatched: [], erased: SuppressionList("17", ["token-1"], at: times[1]))
        #expect(found.records == [toy.pushes[2]] && found.omitted(.erased) == 2)
        let other = try select(toy, dispatched: [], erased: SuppressionList("17", ["token-2"], at: times[2]))
        #expect(other.records == [toy.pushes[1], toy.pushes[2]] && other.omitted(.erased) == 0)
    }

    @Test("what was dispatched is not sent again, whoever wrote it, unless that is wanted", arguments: UInt64(40)..<43)
    func sent(seed: UInt64) throws {
        let toy = try ToyPipeline.lived(seed: seed, jumps: seed % 2 == 1)
        let all = try select(toy, dispatched: nil) { $0.now = 0 }
        let none = try select(toy, dispatched: toy.pushes) { $0.now = 0 }
        #expect(all.plan.remaining > 50 && none.plan.remaining == 0, "seed \(seed)")
        #expect(none.omitted(.alreadySent) == all.plan.remaining, "seed \(seed)")
        var byReplay = toy.pushes
        for index in byReplay.indices { byReplay[index].headers.append(.init("replay", Array("x".utf8))) }
        #expect(try select(toy, dispatched: byReplay) { $0.now = 0 }.plan.remaining == 0, "seed \(seed)")
    }

    @Test("the missing latest notifications are sent, byte for byte, and nothing else", arguments: UInt64(43)..<46)
    func missing(seed: UInt64) throws {
        let toy = try ToyPipeline.lived(seed: seed)
        var random = SeededGenerator(seed: seed)
        let latest = try select(toy, dispatched: nil) { $0.now = 0 }.records
        let lost = latest.filter { _ in Bool.random(using: &random) }
        let there = toy.pushes.filter { !lost.contains($0) }
        let found = try select(toy, dispatched: there) { $0.now = 0 }
        #expect(found.records == lost && !lost.isEmpty, "seed \(seed)")
        #expect(lost.allSatisfy { toy.pushes.contains($0) }, "seed \(seed)")
    }

    @Test("the list has the same order in every run")
    func order() throws {
        let toy = try ToyPipeline.lived(seed: 46, jumps: true)
        let first = try select(toy, dispatched: nil) { $0.now = 0 }
        for piece in [1, 13, 400] {
            let again = try select(toy, dispatched: nil, piece: piece) { $0.now = 0 }
            #expect(again.entries.map(\.key) == first.entries.map(\.key))
        }
    }

    @Test(
        "what the run itself has sent is done, by the log, and nothing else", arguments: [RedriveChoice.missed, .all])
    func resumed(choice: RedriveChoice) throws {
        let toy = try ToyPipeline.lived(seed: 46, requests: true)
        let first = try select(toy, dispatched: nil) { $0.now = 0 }
        var random = SeededGenerator(seed: 46)
        let sent = first.entries.filter { _ in Bool.random(using: &random) }
        func records(by id: String) -> [RenderedRecord] {
            sent.map { entry in
                var record = entry.record
                record.headers.append(.init("replay", Array(id.utf8)))
                return record
            }
        }
        let keys = Set(sent.map(\.key))
        let rest = try select(toy, dispatched: records(by: "own"), by: "own") {
            $0.now = 0
            $0.choice = choice
        }
        #expect(rest.entries.map(\.key) == first.entries.map(\.key).filter { !keys.contains($0) })
        #expect(rest.plan.done == sent.count && rest.plan.remaining == first.entries.count - sent.count)
        #expect(rest.omitted(.alreadySent) == 0 && !sent.isEmpty)
        let other = try select(toy, dispatched: records(by: "another"), by: "own") {
            $0.now = 0
            $0.choice = choice
        }
        #expect(other.plan.done == 0)
        let both = try select(toy, dispatched: records(by: "another") + records(by: "own").prefix(1), by: "own") {
            $0.now = 0
            $0.choice = choice
        }
        #expect(both.plan.done == 1 && both.plan.remaining == other.plan.remaining - (choice == .all ? 1 : 0))
        #expect(both.omitted(.alreadySent) == (choice == .all ? 0 : sent.count - 1))
        #expect(other.plan.remaining == (choice == .all ? first.entries.count : first.entries.count - sent.count))
    }

    @Test("of requests each missed push is sent once: not what is sent, expired, or replaced under its collapse key")
    func requests() throws {
        var toy = try ToyPipeline()
        for user in ["1", "2"] { try toy.subscribe("token-\(user)", toAudience: "user/\(user)") }
        func ask(_ id: String, _ more: String = "", audience: String = #"["user/1","user/2"]"#) throws {
            toy.pass(ToyPipeline.minute)
            let value =
                #"{"request_id":"\#(id)","requested_at":1751871600000,"audience":\#(audience)\#(more),"message":{"title":"T"}}"#
            toy.ask(SampleRecord(value: value))
            try toy.transact([0, 0, 0], requests: [9])
        }
        try ask("a")
        try ask("b", #","collapse_key":"score""#)
        try ask("c", #","collapse_key":"score""#, audience: #""user/1""#)
        try ask("d", #","expires_at":1751875200000"#, audience: #""user/1""#)
        // A producer that sends a request twice: the pipeline sends it once.
        try ask("a")
        let sent = toy.pushes
        try #require(sent.count == 6)
        let found = try select(toy, dispatched: []) { $0.now = 1_751_875_200_000 }
        // Of b the push to the other device, of a and of c all.
        let sources = found.records.compactMap { $0.header("source")?.suffix(1) }
        #expect(sources == ["0", "0", "1", "2"])
        #expect(String(decoding: found.records[2].key, as: UTF8.self) == SHA256.hex(of: "token-2"))
        #expect(found.omitted(.replaced) == 1 && found.omitted(.expired) == 1 && found.plan.remaining == 4)
        let some = try select(toy, dispatched: [sent[0], sent[4]])
        #expect(some.omitted(.alreadySent) == 2 && some.plan.remaining == 3)
        let one = try select(toy, dispatched: []) { $0.filter.requests = ["b"] }
        #expect(one.plan.remaining == 1 && one.omitted(.replaced) == 1)
        let range = try select(toy, dispatched: [], ranges: [SourcePartition(.requests, 0): 3..<4])
        #expect(range.records == [sent[5]])
    }

    @Test("a list over both topics is in the order of the topics")
    func both() throws {
        let toy = try ToyPipeline.lived(seed: 46, requests: true)
        let first = try select(toy, dispatched: nil) { $0.now = 0 }
        let sources = first.entries.map(\.coordinates.partition.source)
        #expect(sources == sources.sorted { $0.rawValue < $1.rawValue } && Set(sources) == [.orders, .requests])
        let none = try select(toy, dispatched: toy.pushes) { $0.now = 0 }
        #expect(none.plan.remaining == 0 && none.omitted(.alreadySent) == first.plan.remaining)
    }

    @Test("what is older than the limit, by the time of its event or when its timer was due, is left out and counted")
    func maxAge() throws {
        let toy = try toy([nil, nil, nil], orders: [1, 2, 3])
        let found = try select(toy, dispatched: []) {
            $0.now = toy.clock + 10
            $0.maxAge = ToyPipeline.minute + 10
        }
        #expect(found.records == Array(toy.pushes[1...]) && found.omitted(.tooOld) == 1)
        let edge = try select(toy, dispatched: []) {
            $0.now = toy.clock + 11
            $0.maxAge = ToyPipeline.minute + 10
        }
        #expect(edge.records == Array(toy.pushes[2...]) && edge.omitted(.tooOld) == 2)
        let lived = try ToyPipeline.lived(seed: 47)
        let timers = lived.output.records.filter { $0.header("source")?.hasPrefix("schedule/") == true }
        #expect(!timers.isEmpty)
        let young = try select(lived, dispatched: []) { $0.maxAge = 0 }
        #expect(young.records.isEmpty && young.omitted(.tooOld) >= timers.count)
    }

    @Test("what is past its expires-at is left out and counted")
    func expired() throws {
        let toy = try toy([nil, nil], orders: [1, 2])
        let expiry = try toy.pushes.map { try $0.withDispatchRecord { try $0.expiresAt } }
        let found = try select(toy, dispatched: []) { $0.now = expiry[0] }
        #expect(found.records == [toy.pushes[1]] && found.omitted(.expired) == 1)
        #expect(try select(toy, dispatched: []) { $0.now = expiry[0] - 1 }.plan.remaining == 2)
    }

    @Test("a range that has no journal is known as such, also where it is only reached by what is selected")
    func journal() throws {
        let toy = try toy([nil, nil, nil, nil], orders: [1, 2, 3, 4])
        let journal = try JournalIndex(Scratch(), group: toy.configuration.groupID)
        try journal.append(Array(toy.journal[2...]))
        let planner = ReplayPlanner(journal: journal, isCut: true)
        var input = try planner.plan([0: 0..<4])
        input.selected = [0: 0..<4]
        #expect(input.lacksJournal)
        input.selected = [0: 3..<4]
        #expect(!input.lacksJournal)
        input = try planner.plan([0: 2..<4])
        input.selected = [0: 2..<4]
        #expect(!input.lacksJournal)
    }

    @Test("no topic of a pipeline can be written to by anything else, whatever it is called")
    func topics() throws {
        var configuration = PipelineConfiguration(
            kafka: ["bootstrap.servers": "127.0.0.1:1"], stateDirectory: "",
            rules: try ExtractionRules(timeZone: "Europe/Berlin"))
        for name in ["orders.events", "notifications.dispatch", "notifications.journal"] {
            #expect(throws: ReplayRefusal.self) { try Self.open(name, configuration) }
        }
        configuration.topics.dispatch = "another.name"
        #expect(throws: ReplayRefusal.self) { try Self.open("another.name", configuration) }
        #expect(throws: ReplayRefusal.self) { try Self.open("notifications.dispatch", configuration) }
    }

    private static func open(_ name: String, _ configuration: PipelineConfiguration) throws {
        _ = try TopicSink(name, id: "x", configuration, logger: { _ in })
    }
}
