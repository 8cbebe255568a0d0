import CarillonTesting
import Digests
import Notifications
import Pipeline
import TestSupport
import Testing

@testable import Replay

@Suite("The difference between what was sent and what is rendered")
struct DiffTests {
    private struct Outcome {
        var report: DiffReport
        var isZero: Bool { report.isZero }
    }

    /// Compares a replay with a dispatch topic that holds these records.
    private func compare(
        _ toy: borrowing ToyPipeline, with dispatched: [RenderedRecord], filter: FilterRules = FilterRules(),
        configuration: PipelineConfiguration? = nil, ranges: [SourcePartition: Range<Int64>]? = nil
    ) throws -> DiffReport {
        let run = try ReplayRun(toy)
        let input = try run.plan(toy, ranges)
        let index = try DispatchIndex(Scratch(), topics: ToyPipeline.topics)
        for (offset, record) in dispatched.enumerated() {
            try record.withDispatchRecord { record in
                try index.append(
                    record, at: Coordinates(partition: 0, offset: Int64(offset)),
                    within: input.ranges)
            }
        }
        let unequal = try UnequalRecords(Scratch())
        var sink = try run.perform(
            toy, input, filter: filter, configuration: configuration, into: DiffSink(index, unequal: unequal))
        var report = try sink.finish(input.done, hasTimers: filter.isEmpty)
        for (offset, record) in dispatched.enumerated() {
            try unequal.compare(record, at: Coordinates(partition: 0, offset: Int64(offset)), &report)
        }
        return report
    }

    @Test(
        "with unchanged rules it is empty, also after offset jumps and in part of the log", arguments: UInt64(20)..<24)
    func zero(seed: UInt64) throws {
        let toy = try ToyPipeline.lived(seed: seed, jumps: seed % 2 == 1)
        let whole = try compare(toy, with: toy.pushes)
        #expect(whole.isZero && whole.equal == toy.pushes.count, "seed \(seed): \(whole)")
        let part = try compare(toy, with: toy.pushes, ranges: [0: 20..<60, 1: 0..<31])
        #expect(part.isZero && part.equal > 0, "seed \(seed): \(part)")
        var filter = FilterRules()
        filter.places = ["p1"]
        let filtered = try compare(toy, with: toy.pushes, filter: filter)
        #expect(filtered.isZero && filtered.equal > 0 && filtered.equal < whole.equal, "seed \(seed): \(filtered)")
    }

    @Test("with requests beside events it is empty over both, and in part of one topic", arguments: UInt64(20)..<24)
    func zeroOverBoth(seed: UInt64) throws {
        let toy = try ToyPipeline.lived(seed: seed, requests: true)
        let whole = try compare(toy, with: toy.pushes)
        #expect(whole.isZero && whole.equal == toy.pushes.count, "seed \(seed): \(whole)")
        let part = try compare(
            toy, with: toy.pushes, ranges: [0: 20..<60, SourcePartition(.requests, 0): 10..<40])
        #expect(part.isZero && part.equal > 0 && part.equal < whole.equal, "seed \(seed): \(part)")
        var filter = FilterRules()
        filter.requests = ["r10"]
        let filtered = try compare(toy, with: toy.pushes, filter: filter)
        #expect(filtered.isZero, "seed \(seed): \(filtered)")
    }

    @Test("a push of a request that is missing, extra, twice or changed is reported, at the place of its own topic")
    func plantedRequests() throws {
        let toy = try ToyPipeline.lived(seed: 30, requests: true)
        let at = try #require(
            toy.pushes.firstIndex { $0.header("source")?.hasPrefix("notifications.requests/1/") == true })
        var records = toy.pushes
        let one = records.remove(at: at)
        let less = try compare(toy, with: records)
        #expect(less.missing == 1 && less.missingExamples.first?.source == one.header("source"))
        let twice = try compare(toy, with: toy.pushes + [one])
        #expect(twice.duplicates == 1 && twice.extra == 0)
        var stranger = one
        stranger.key = Array("another device".utf8)
        let more = try compare(toy, with: toy.pushes + [stranger])
        #expect(more.extra == 1 && more.extraExamples.first?.source.hasPrefix("requests/1/") == true)
        // The event at the same coordinates of the other topic is another one.
        var moved = one
        let source = (one.header("source") ?? "").replacing("notifications.requests", with: "orders.events")
        let header = try #require(moved.headers.firstIndex { $0.name == "source" })
        moved.headers[header].value = Array(source.utf8)
        let other = try compare(toy, with: records + [moved])
        #expect(other.missing == 1 && other.extra == 1)
    }

    @Test("an extra record, a missing one, a duplicate and a changed byte are each reported")
    func planted() throws {
        let toy = try ToyPipeline.lived(seed: 30)
        let records = toy.pushes
        let less = try compare(toy, with: Array(records.dropFirst()))
        #expect(
            less.missing == 1 && less.extra == 0 && less.missingExamples.first?.source == records[0].header("source"))
        let twice = try compare(toy, with: records + [records[5]])
        #expect(twice.duplicates == 1 && twice.extra == 0 && twice.missing == 0)
        var stranger = records[5]
        stranger.key = Array("another device".utf8)
        let more = try compare(toy, with: records + [stranger])
        #expect(more.extra == 1 && more.duplicates == 0 && more.missing == 0)
        var changed = records
        changed[7].value[changed[7].value.count - 1] = 0x20
        #expect(try compare(toy, with: changed).unequal == 1)
        changed = records
        changed[7].headers[3].value = Array("0".utf8)
        let header = try compare(toy, with: changed)
        #expect(header.unequal == 1 && header.fields.fields.map(\.name) == ["header expires-at"])
    }

    @Test("with other audiences it says who would get a push, and who would not; with those that sent them it is empty")
    func audiences() throws {
        func lived(_ templates: String) throws -> ToyPipeline {
            var toy = try ToyPipeline { configuration in
                configuration.rules = try ExtractionRules(
                    timeZone: "Europe/Berlin", audiences: AudienceTemplates(AudienceTemplate.list(templates)))
            }
            try toy.subscribe("staff", to: "p1")
            try toy.subscribe("customer", toAudience: "user/c1")
            for number in 0..<3 {
                toy.append(.order("o\(number)", place: "p1", orderMembers: #""customer_id":"c1""#), to: 0)
            }
            toy.append(.order("placeless", place: "", orderMembers: #""customer_id":"c1""#), to: 0)
            try toy.transact([100, 0, 0])
            return toy
        }
        let both = "place/{place_id},user/{customer_id}"
        let staff = try lived("place/{place_id}")
        let all = try lived(both)
        #expect(staff.pushes.count == 3 && all.pushes.count == 7)
        #expect(try compare(all, with: all.pushes).isZero)
        let more = try compare(staff, with: staff.pushes, configuration: all.configuration)
        #expect(more.missing == 4 && more.equal == 3 && more.extra == 0 && more.unequal == 0, "\(more)")
        let less = try compare(all, with: all.pushes, configuration: staff.configuration)
        #expect(less.missing == 0 && less.equal == 3 && less.extra == 4, "\(less)")
    }

    @Test("with another mapping of names it says what would differ; with the one that sent them it is empty")
    func members() throws {
        func lived(_ mapping: String) throws -> ToyPipeline {
            var toy = try ToyPipeline { configuration in
                configuration.rules = try ExtractionRules(
                    timeZone: "Europe/Berlin", members: MemberMapping(json: Array(mapping.utf8)))
            }
            try toy.subscribe("staff", to: "p1")
            for number in 0..<3 {
                toy.append(.order("o\(number)", place: "p1", orderMembers: #""shown":"n\#(number)""#), to: 0)
            }
            toy.append(.order("placeless", place: "", orderMembers: #""store":"p1""#), to: 0)
            try toy.transact([100, 0, 0])
            return toy
        }
        let usual = try lived("{}")
        let mapped = try lived(#"{"order.place_id":["store"],"order.parent_order_id":["shown"]}"#)
        #expect(usual.pushes.count == 3 && mapped.pushes.count == 4)
        #expect(try compare(mapped, with: mapped.pushes).isZero)
        let more = try compare(usual, with: usual.pushes, configuration: mapped.configuration)
        #expect(more.missing == 1 && more.unequal == 3 && more.equal == 0, "\(more)")
        #expect(more.fields.fields.contains { $0.name.contains("parent_order_id") }, "\(more.fields)")
    }

    @Test("§5.7: after a change of events.types it says which pushes are missing or extra, and which fields differ")
    func eventTypes() throws {
        func lived(_ types: String) throws -> ToyPipeline {
            var toy = try ToyPipeline { configuration in
                configuration.rules = try ExtractionRules(
                    audiences: AudienceTemplates([.place], types: EventTypes(json: Array(types.utf8))))
            }
            try toy.subscribe("staff", to: "p1")
            toy.append(.order("o1", place: "p1", status: "pending"), to: 0)
            toy.append(
                .order("o1", "LATE", place: "p1", status: "late", orderMembers: #""reason":"Snow","minutes":5"#), to: 0)
            toy.append(.order("o1", "ORDER_STATUS_CHANGED", place: "p1", status: "picked"), to: 0)
            try toy.transact([100, 0, 0])
            return toy
        }
        let none = try lived("{}")
        let late = try lived(#"{"late":{"members":["reason"]}}"#)
        let kept = try lived(#"{"late":{"state":"kept","members":["reason","minutes"]}}"#)
        #expect(none.pushes.count == 2 && late.pushes.count == 3 && kept.pushes.count == 3)
        #expect(try compare(kept, with: kept.pushes).isZero)
        let declared = try compare(none, with: none.pushes, configuration: late.configuration)
        #expect(declared.missing == 1 && declared.equal == 2 && declared.extra == 0 && declared.unequal == 0)
        let removed = try compare(late, with: late.pushes, configuration: none.configuration)
        #expect(removed.missing == 0 && removed.equal == 2 && removed.extra == 1 && removed.unequal == 0)
        let changed = try compare(late, with: late.pushes, configuration: kept.configuration)
        #expect(changed.missing == 0 && changed.equal == 1 && changed.extra == 0 && changed.unequal == 2)
        #expect(changed.fields.fields.map(\.name).sorted() == ["minutes", "previous_status"])
    }

    @Test("a re-driven record is neither a duplicate nor extra, and fills in for a missing one")
    func redriven() throws {
        let toy = try ToyPipeline.lived(seed: 32)
        let records = toy.pushes
        func marked(_ record: RenderedRecord) -> RenderedRecord {
            var record = record
            record.headers.append(.init("replay", Array("r1".utf8)))
            return record
        }
        let again = try compare(toy, with: records + [marked(records[5])])
        #expect(again.isZero && again.redriven == 0 && again.equal == records.count)
        let filled = try compare(toy, with: Array(records.dropFirst()) + [marked(records[0])])
        #expect(filled.isZero && filled.redriven == 1 && filled.equal == records.count - 1)
        var stranger = marked(records[5])
        stranger.key = Array("another device".utf8)
        #expect(try compare(toy, with: records + [stranger]).isZero)
        var changed = marked(records[0])
        changed.value[changed.value.count - 1] = 0x20
        let other = try compare(toy, with: Array(records.dropFirst()) + [changed])
        #expect(other.unequal == 1 && other.redriven == 0 && other.missing == 0)
        // The mark is the last header, and has an id; anything else is the pipeline's own.
        var unmarked = records[5]
        unmarked.headers.insert(.init("replay", Array("r1".utf8)), at: 0)
        #expect(try compare(toy, with: records + [unmarked]).duplicates == 1)
    }

    @Test("an unparsable value is reported by size and hash, and a token never, wherever it occurs")
    func secrets() throws {
        let toy = try ToyPipeline.lived(seed: 33)
        let records = toy.pushes
        let at = try #require(records.firstIndex { PushPayload(value: $0.value)?["message.token"] != nil })
        let token = try #require(PushPayload(value: records[at].value)?["message.token"])
        let value = String(decoding: records[at].value, as: UTF8.self)
        func changes(_ change: (inout RenderedRecord) -> Void) throws -> [String: String] {
            var changed = records
            change(&changed[at])
            let report = try compare(toy, with: changed)
            #expect(report.unequal == 1)
            return Dictionary(
                uniqueKeysWithValues: report.fields.fields.map { field in
                    (field.name, field.changes.keys.map { "\($0.then ?? "-") → \($0.now ?? "-")" }.joined())
                })
        }
        let cut = try changes { $0.value.removeLast() }
        let whole = "\(value.utf8.count) bytes, sha256 \(SHA256.hex(of: value, digits: 16))"
        let part = "\(value.utf8.count - 1) bytes, sha256 \(SHA256.hex(of: String(value.dropLast()), digits: 16))"
        #expect(cut == ["value": "\(part) → \(whole)"])
        let other = try changes { $0.value = Array(value.replacing(token, with: "another-token").utf8) }
        #expect(other.keys.sorted() == ["message.token"])
        let moved = try changes { $0.headers.append(.init("to", Array(token.utf8))) }
        #expect(moved.keys.sorted() == ["header to"])
        for told in [cut, other, moved].flatMap(\.values) {
            #expect(!told.contains(token) && !told.contains("another-token"), "\(told)")
        }
    }

    @Test("a changed rule is reported by the fields that it changes")
    func rules() throws {
        let toy = try ToyPipeline.lived(seed: 31)
        var other = toy.configuration
        other.rendering.timeToLive += .seconds(60)
        let report = try compare(toy, with: toy.pushes, configuration: other)
        #expect(report.unequal == toy.pushes.count && report.missing == 0 && report.extra == 0)
        #expect(report.fields.fields.map(\.name).contains("header expires-at"))
        #expect(report.fields.fields.first?.records == toy.pushes.count)
    }
}
