import CarillonTesting
import Digests
import Notifications
import Pipeline
import TestSupport
import Testing

@testable import Replay

@Suite("The journal's transactions are replayed, byte for byte")
struct ReexecutionTests {
    /// Records by source, so that partitions may come in any order.
    private func sorted(_ records: [RenderedRecord]) -> [[UInt8]] {
        records.map { Array(($0.header("source") ?? "").utf8) + $0.key + $0.value + Array("\($0.headers)".utf8) }
            .sorted { $0.lexicographicallyPrecedes($1) }
    }

    private func check(_ toy: borrowing ToyPipeline, piece: Int, seed: UInt64) throws {
        let run = try ReplayRun(toy)
        let again = try run.perform(toy, try run.plan(toy), piece: piece, into: RecordingSink())
        let isSame = sorted(again.pushes) == sorted(toy.pushes)
        #expect(isSame, "seed \(seed): \(again.pushes.count) records, \(toy.pushes.count) were written")
        #expect(again.letters.sorted() == toy.output.letters.sorted(), "seed \(seed)")
        #expect(again.reasons.sorted() == toy.output.reasons.sorted(), "seed \(seed)")
    }

    @Test("subscriptions that change, timers, several partitions in a transaction", arguments: UInt64(0)..<5)
    func again(seed: UInt64) throws {
        let toy = try ToyPipeline.lived(seed: seed)
        #expect(toy.pushes.contains { $0.header("source")?.hasPrefix("schedule/") == true }, "seed \(seed)")
        #expect(toy.output.letters.count > 3 && toy.output.reasons.count > 20, "seed \(seed)")
        try check(toy, piece: 7, seed: seed)
    }

    @Test("requests beside events, judged by their transaction's clock, in any pieces", arguments: UInt64(0)..<5)
    func requests(seed: UInt64) throws {
        let toy = try ToyPipeline.lived(seed: seed, requests: true)
        #expect(toy.output.suppressed.contains { $0.reason == .expired }, "seed \(seed)")
        #expect(toy.pushes.contains { $0.header("source")?.hasPrefix("notifications.requests/1/") == true })
        for piece in [1, 7, 1_000] { try check(toy, piece: piece, seed: seed) }
    }

    @Test("with another clock in the journal other requests expire: the clock is the journal's")
    func clock() throws {
        let toy = try ToyPipeline.lived(seed: 1, requests: true)
        var steps = toy.journal
        for index in steps.indices where steps[index].partition.source == .requests { steps[index].clock += 86_400_000 }
        let run = try ReplayRun(toy, steps: steps)
        let again = try run.perform(toy, try run.plan(toy), into: RecordingSink())
        let expired = { (sink: RecordingSink) in sink.suppressed.count { $0.reason == .expired } }
        #expect(expired(again) > expired(toy.output))
    }

    @Test("a topic without requests in the settings: their part of the journal is another pipeline's")
    func withoutRequests() throws {
        let toy = try ToyPipeline.lived(seed: 2, requests: true)
        let run = try ReplayRun(toy, steps: toy.journal.filter { $0.partition.source == .orders })
        var configuration = toy.configuration
        configuration.topics.requests = ""
        let ranges = toy.logs.indices.map { (SourcePartition(.orders, Int32($0)), 0..<Int64(toy.logs[$0].count)) }
        let plan = try run.plan(toy, Dictionary(uniqueKeysWithValues: ranges))
        let again = try run.perform(toy, plan, configuration: configuration, into: RecordingSink())
        let orders = toy.pushes.filter { $0.header("source")?.hasPrefix("notifications.requests/") != true }
        #expect(sorted(again.pushes) == sorted(orders))
    }

    @Test(
        "records from the future count as what the journal's clock allows, and those from the past too",
        arguments: UInt64(0)..<10)
    func strangeTimes(seed: UInt64) throws {
        let toy = try ToyPipeline.lived(seed: seed, strangeTimes: true)
        #expect(toy.output.reasons.contains { $0.contains("duplicate") }, "seed \(seed)")
        for piece in [1, 7, 1_000] { try check(toy, piece: piece, seed: seed) }
    }

    @Test("offsets that an operator has moved, back and on", arguments: UInt64(0)..<5)
    func jumps(seed: UInt64) throws {
        let toy = try ToyPipeline.lived(seed: seed, jumps: true)
        try check(toy, piece: 50, seed: seed)
    }

    @Test("parts of the log join to the whole, timers too", arguments: UInt64(0)..<3)
    func parts(seed: UInt64) throws {
        let toy = try ToyPipeline.lived(seed: seed)
        let run = try ReplayRun(toy)
        var sink = RecordingSink()
        for start in stride(from: Int64(0), to: 300, by: 37) {
            let ranges = Dictionary(
                uniqueKeysWithValues: toy.logs.indices.map { partition in
                    (
                        SourcePartition(.orders, Int32(partition)),
                        (start..<start + 37).clamped(to: 0..<Int64(toy.logs[partition].count))
                    )
                })
            sink = try run.perform(toy, try run.plan(toy, ranges), into: sink)
        }
        let isSame = sorted(sink.pushes) == sorted(toy.pushes)
        #expect(isSame, "seed \(seed): \(sink.pushes.count) records, \(toy.pushes.count) were written")
    }

    @Test("a second group with its own rules on the same events and journal: each is replayed by itself")
    func twoGroups() throws {
        let live = try ToyPipeline.lived(seed: 9)
        let trial = try ToyPipeline.following(live, group: "trial", by: 5) { configuration in
            configuration.topics.dispatch = "trial.dispatch"
            configuration.rendering.timeToLive += .seconds(60)
        }
        let steps = live.journal + trial.journal
        let ofLive = try ReplayRun(live, steps: steps)
        let ofTrial = try ReplayRun(trial, steps: steps)
        let isLive = try sorted(ofLive.perform(live, ofLive.plan(live), into: RecordingSink()).pushes)
        #expect(isLive == sorted(live.pushes))
        let plan = try ofTrial.plan(trial)
        #expect(plan.lanes == 1 && plan.notes.isEmpty && plan.steps == trial.journal.count)
        let isTrial = try sorted(ofTrial.perform(trial, plan, into: RecordingSink()).pushes)
        #expect(!isTrial.isEmpty && isTrial == sorted(trial.pushes))
        #expect(
            plan.groupsSharing("trial.dispatch").isEmpty && plan.groupsSharing("notifications.dispatch") == ["carillon"]
        )
    }

    @Test("a log that is not the journal's is refused by partition and offset, before anything is finished")
    func otherLog() throws {
        let toy = try ToyPipeline.lived(seed: 10)
        let at = try #require(toy.journal.lastIndex { $0.partition == 1 && $0.from < $0.to })
        let offset = toy.journal[at].from
        for change: (inout RecordFingerprint) -> Void in [
            { $0.timestamp = ($0.timestamp ?? 0) + 1 }, { $0.key = StoredHash(number: 1) }, { $0.key = nil },
        ] {
            var steps = toy.journal
            var first = try #require(steps[at].first)
            change(&first)
            steps[at].first = first
            let run = try ReplayRun(toy, steps: steps)
            let plan = try run.plan(toy)
            let refusal = try #require(throws: ReplayRefusal.self) {
                _ = try run.perform(toy, plan, into: RecordingSink())
            }
            #expect(refusal.description.contains("orders.events/1: at offset \(offset) stands another record"))
            // A range without that transaction is replayed as usual.
            let part = try run.plan(toy, [0: 0..<Int64(toy.logs[0].count), 1: 0..<offset])
            #expect(try !run.perform(toy, part, into: RecordingSink()).pushes.isEmpty)
        }
    }

    @Test("with the subscriptions of now, and with those that are still there")
    func views() throws {
        // Without the limit: an event with too many devices then may have few enough now.
        let toy = try ToyPipeline.lived(seed: 3) { $0.maxDevicesPerEvent = 1_000 }
        let run = try ReplayRun(toy)
        let plan = try run.plan(toy)
        let then = try run.perform(toy, plan, view: .asOfEvent, into: RecordingSink()).pushes
        let now = try run.perform(toy, plan, view: .now, into: RecordingSink()).pushes
        let both = try run.perform(toy, plan, view: .both, into: RecordingSink()).pushes
        func identities(_ records: [RenderedRecord]) -> Set<String> {
            Set(records.map { "\($0.header("source") ?? "") \(String(decoding: $0.key, as: UTF8.self).prefix(8))" })
        }
        #expect(both.count < then.count && !both.isEmpty)
        let isSubset = identities(both).isSubset(of: identities(then))
        #expect(isSubset)
        let isNewer = !identities(now).isSubset(of: identities(then))
        #expect(isNewer, "\(now.count) records with the subscriptions of now, \(then.count) then")
    }

    @Test("without a journal each record stands alone, timers fire when due, and the result is approximate")
    func approximate() throws {
        let toy = try ToyPipeline.lived(seed: 4)
        let empty = try JournalIndex(Scratch(), group: toy.configuration.groupID)
        let input = try ReplayPlanner(journal: empty, isCut: true).plan([0: 0..<Int64(toy.logs[0].count)])
        #expect(input.isApproximate)
        let run = try ReplayRun(toy)
        let sink = try run.perform(toy, input, view: .now, until: toy.clock, into: RecordingSink())
        #expect(sink.pushes.contains { $0.header("source")?.hasPrefix("schedule/0/") == true })
        #expect(!sink.pushes.contains { $0.header("source")?.hasPrefix("orders.events/1/") == true })
    }

    @Test("a filter selects by order, place, type and status")
    func filters() throws {
        let toy = try ToyPipeline.lived(seed: 5)
        let run = try ReplayRun(toy)
        let plan = try run.plan(toy)
        func pushes(_ change: (inout FilterRules) -> Void) throws -> [PushPayload] {
            var filter = FilterRules()
            change(&filter)
            return try run.perform(toy, plan, filter: filter, into: RecordingSink()).pushes
                .compactMap { PushPayload(value: $0.value) }
        }
        let place = try pushes { $0.places = ["p2"] }
        #expect(!place.isEmpty && place.allSatisfy { $0["place_id"] == "p2" })
        let order = try pushes { $0.orders = ["o7"] }
        #expect(!order.isEmpty && order.allSatisfy { $0["order_id"] == "o7" })
        let type = try pushes { $0.types = ["event_unpicked_orders_reminder"] }
        #expect(!type.isEmpty && type.allSatisfy { $0["event_type"] == "event_unpicked_orders_reminder" })
        let status = try pushes { $0.statuses = ["picked"] }
        #expect(!status.isEmpty && status.count < toy.pushes.count)
    }

    @Test("a filter selects requests by id, audience, kind and the order that they carry")
    func requestFilters() throws {
        var toy = try ToyPipeline()
        for user in ["1", "2"] { try toy.subscribe("token-\(user)", toAudience: "user/\(user)") }
        try toy.subscribe("token-1", to: "p1")
        let app = #""app":{"title":"T","body":"B","data":{"type":"NewBill","order_type":"food","order_id":"o7"}}"#
        let message = #""message":{"title":"T"}"#
        for (id, audience, content) in [
            ("r1", #""user/1""#, app), ("r2", #""user/2""#, message), ("r3", #"["user/2","place/p1"]"#, message),
        ] {
            toy.ask(SampleRecord(value: #"{"request_id":"\#(id)","audience":\#(audience),\#(content)}"#))
        }
        let order =
            #"{"event_id":"1","event_type":"ORDER_CREATED","order":{"id":"o7","place_id":"p1","status":"pending"}}"#
        toy.append(SampleRecord(key: "o7", value: order), to: 0)
        toy.pass(ToyPipeline.minute)
        try toy.transact([1, 0, 0], requests: [3, 0])
        let run = try ReplayRun(toy)
        let plan = try run.plan(toy)
        func sources(_ change: (inout FilterRules) -> Void) throws -> [String] {
            var filter = FilterRules()
            change(&filter)
            return try run.perform(toy, plan, filter: filter, into: RecordingSink()).pushes
                .compactMap { $0.header("source")?.replacing("notifications.", with: "") }.sorted()
        }
        #expect(try sources { $0.requests = ["r2"] } == ["requests/0/1"])
        #expect(try sources { $0.orders = ["o7"] } == ["orders.events/0/0", "requests/0/0"])
        #expect(try sources { $0.places = ["p1"] } == ["orders.events/0/0", "requests/0/2", "requests/0/2"])
        #expect(try sources { $0.types = ["app"] } == ["requests/0/0"])
        #expect(try sources { $0.types = ["event_order_created"] } == ["orders.events/0/0"])
        #expect(try sources { $0.statuses = ["pending"] } == ["orders.events/0/0"])
        #expect(FilterRules.typeName("message", .none) == "message" && FilterRules.typeName("broadcasts", .none) == nil)
    }

    @Test("a plan counts what would be written")
    func plan() throws {
        let toy = try ToyPipeline.lived(seed: 6)
        let run = try ReplayRun(toy)
        let plan = try run.perform(toy, try run.plan(toy), into: PlanSink()).plan
        #expect(plan.devices == toy.pushes.count)
        let sent = Set(toy.pushes.map { "\($0.header("source") ?? "") \($0.header("message-id") ?? "")" })
        #expect(plan.notifications == sent.count)
        #expect(plan.byType.values.reduce(0) { $0 + $1.devices } == plan.devices)
        #expect(plan.devicesByHour.values.reduce(0, +) == plan.devices)
        #expect(plan.deadLetters.values.reduce(0, +) == toy.output.letters.count)
        let reasons = plan.suppressed.values.reduce(0, +) + plan.droppedTimers.values.reduce(0, +)
        #expect(reasons == toy.output.reasons.count)
    }
}
