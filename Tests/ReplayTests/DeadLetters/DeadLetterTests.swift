import CarillonTesting
import Foundation
import KafkaClient
import Notifications
import Pipeline
import TestSupport
import Testing

@testable import Replay

@Suite("Putting dead letters back")
struct DeadLetterTests {
    private static let good = #"{"event_id":"e","event_type":"ORDER_CREATED","order":{"id":"o","place_id":"p"}}"#
    private static let list = #"{"event_type":"ORDER_IDS_LISTED","place_id":"p","order_ids":["a","b"]}"#
    private static let now: WallTime = 1_751_871_600_000

    private let configuration: PipelineConfiguration

    init() throws {
        configuration = PipelineConfiguration(
            kafka: [:], stateDirectory: "", rules: try ExtractionRules(timeZone: "UTC"))
    }

    private static func event(_ partition: Int32, _ offset: Int64, of source: SourceKind = .orders) -> EventCoordinates
    {
        EventCoordinates(SourcePartition(source, partition), offset: offset)
    }

    // MARK: Headers

    /// The headers that a pipeline appends to those of a record.
    private static func family(
        _ code: String = "no_place", topic: String = "orders.events", partition: Int = 3, offset: Int = 17,
        name: String = "carillon", truncated: Bool = false
    ) -> [(String, String?)] {
        [
            ("x-error-code", code), ("__connect.errors.topic", topic), ("__connect.errors.partition", "\(partition)"),
            ("__connect.errors.offset", "\(offset)"), ("__connect.errors.connector.name", name),
            ("__connect.errors.stage", "TRANSFORMATION"), ("__connect.errors.exception.message", "why"),
        ] + (truncated ? [("x-truncated", "70000")] : [])
    }

    private func headers(_ pairs: [(String, String?)], _ memory: Memory) -> [EventHeader] {
        pairs.map { EventHeader(name: memory.copy($0.0), value: $0.1.map { memory.copy($0) }) }
    }

    @Test("the reason is the pipeline's own last group of headers; another program's headers are none")
    func reasons() throws {
        let memory = Memory()
        let twice = headers([("a", "1")] + Self.family() + [("b", nil)] + Self.family("no_place", offset: 40), memory)
        let reason = try #require(DeadLetterReason(twice))
        #expect(reason.coordinates == Coordinates(partition: 3, offset: 40) && reason.originalHeaders == 9)
        #expect(reason.code == "no_place" && reason.topic == "orders.events" && reason.message == "why")
        #expect(!reason.isTruncated)
        #expect(DeadLetterReason(headers(Self.family(truncated: true), memory))?.isTruncated == true)
        #expect(DeadLetterReason(headers(Self.family(name: "another"), memory)) == nil)
        #expect(DeadLetterReason(headers([("a", "1")], memory)) == nil)
        #expect(DeadLetterReason(headers(Self.family().filter { !$0.0.hasSuffix("offset") }, memory)) == nil)
    }

    // MARK: What goes back

    private func judge(
        _ value: String? = good, _ pairs: [(String, String?)] = family(), age: Int64 = 0,
        _ adjust: (inout DeadLetterRequest) -> Void = { _ in }
    ) -> DeadLetterTrial.Verdict? {
        var request = DeadLetterRequest()
        request.oldest = Self.now - 3_600_000
        adjust(&request)
        var trial = DeadLetterTrial(request, configuration)
        let memory = Memory()
        let record = RecordView(
            topic: "notifications.dead-letters", partition: 1, offset: 5, timestamp: Self.now - age,
            key: memory.copy("o"), value: value.map { memory.copy($0) }, headers: 0..<0)
        return withExtendedLifetime(memory) { trial.judge(record, headers: headers(pairs, memory)) }
    }

    private func left(_ verdict: DeadLetterTrial.Verdict?) -> DeadLetterLeft? {
        if case .left(let why, _, _) = verdict { why } else { nil }
    }

    @Test("each reason for not putting a dead letter back")
    func stays() throws {
        for why in DeadLetterLeft.allCases {
            switch why {
            case .stillDead:
                for value in [nil, "", "no JSON", #"{"event_type":"ORDER_CREATED","order":{"id":"o"}}"#] {
                    #expect(left(judge(value)) == .stillDead)
                }
            case .untried:
                for code in [
                    "too_many_devices", "too_many_bytes", "record_refused", "transaction_timeout", "payload_too_large",
                ] {
                    #expect(left(judge(Self.good, Self.family(code))) == .untried)
                    #expect(left(judge(Self.good, Self.family(code)) { $0.codes = [code] }) == nil)
                }
                // Written by a later version: this one does not know its code.
                #expect(left(judge(Self.good, Self.family("wrong_moon"))) == .untried)
            case .truncated: #expect(left(judge(Self.good, Self.family(truncated: true))) == .truncated)
            case .otherTopic: #expect(left(judge(Self.good, Self.family(topic: "schedule"))) == .otherTopic)
            case .foreign: #expect(left(judge(Self.good, [("a", "1")])) == .foreign)
            case .tooOld:
                #expect(left(judge(age: 3_600_001)) == .tooOld && left(judge(age: 3_600_000)) == nil)
                let dated = Self.good.replacing(
                    "{\"event_id\"", with: "{\"occurred_at\":\((Self.now - 3_600_001).milliseconds),\"event_id\"")
                #expect(left(judge(dated)) == .tooOld)
            // They depend on later records, or are of requests: see below and RequestDeadLetterTests.
            case .putBack, .late, .moved, .refused, .expired: break
            }
        }
        #expect(judge { $0.codes = ["unknown_type"] } == nil)
        #expect(judge { $0.repaired = [:] } == nil)
    }

    @Test(
        "key, value and headers go back as they came, with the first coordinates, and say which dead letter they were")
    func asItCame() throws {
        let pairs: [(String, String?)] = [("traceparent", "00-1"), ("none", nil)]
        guard case .candidate(let candidate, let event) = judge(Self.good, pairs + Self.family()) else {
            Issue.record("it stays")
            return
        }
        func texts(_ event: ProducerRecord) -> [String] {
            event.headers.map { "\($0.name)=\($0.value.map { String(decoding: $0, as: UTF8.self) } ?? "null")" }
        }
        let mark = "replay-of=notifications.dead-letters/1/5"
        let coordinates = ["topic=orders.events", "partition=3", "offset=17"].map { "__connect.errors.\($0)" }
        #expect(texts(event) == ["traceparent=00-1", "none=null", mark] + coordinates)
        #expect(event.key == Array("o".utf8) && event.value == Array(Self.good.utf8) && event.partition == 3)
        #expect(event.timestamp == Self.now)
        #expect(candidate.coordinates == Coordinates(partition: 1, offset: 5) && candidate.order == "o")
        #expect(candidate.event == Self.event(3, 17) && candidate.touchesState)
        // Put back before, and failed again: the original coordinates stay, and the markers name this dead letter.
        let before =
            event.headers.map { ($0.name, $0.value.map { String(decoding: $0, as: UTF8.self) }) } + [("replay", "x")]
        guard case .candidate(let again, let second) = judge(Self.good, before + Self.family(offset: 99)) else {
            Issue.record("it stays")
            return
        }
        #expect(texts(second) == texts(event) && again.event.offset == 99)
        // Another program's headers of the same names are the record's own.
        let connect = [("__connect.errors.topic", "theirs"), ("__connect.errors.offset", "1")] as [(String, String?)]
        guard case .candidate(_, let foreign) = judge(Self.good, connect + Self.family()) else {
            Issue.record("it stays")
            return
        }
        #expect(
            texts(foreign) == ["__connect.errors.topic=theirs", "__connect.errors.offset=1", mark] + coordinates)
        // Repaired by a person.
        let repaired = judge("no JSON", Self.family(truncated: true)) {
            $0.repaired = [Coordinates(partition: 1, offset: 5): Array(Self.list.utf8)]
        }
        guard case .candidate(let listed, let third) = repaired else {
            Issue.record("it stays")
            return
        }
        #expect(third.value == Array(Self.list.utf8) && third.key == Array("o".utf8) && !listed.touchesState)
    }

    @Test("the later events show what was put back, by anybody, and which orders have newer events")
    func behind() throws {
        func candidate(_ offset: Int64, key: String = "o", deadLetter: Int64) -> DeadLetterCandidate {
            DeadLetterCandidate(
                coordinates: Coordinates(partition: 1, offset: deadLetter), event: Self.event(0, offset),
                code: "no_place", type: "event_order_created", order: key, time: 0, timestamp: 0, key: Array(key.utf8),
                touchesState: true, home: 0)
        }
        let candidates = [
            candidate(10, deadLetter: 0), candidate(12, deadLetter: 1), candidate(14, key: "n", deadLetter: 2),
        ]
        let index = PutBackIndex(
            candidates, dead: Set(candidates.map(\.event)), configuration.topics, id: "mine")
        let memory = Memory()
        func note(_ offset: Int64, key: String = "o", _ pairs: [(String, String?)] = []) {
            index.note(
                RecordView(
                    topic: "orders.events", partition: 0, offset: offset, timestamp: nil, key: memory.copy(key),
                    value: nil, headers: 0..<0), of: .orders, headers: headers(pairs, memory))
        }
        func mark(_ deadLetter: Int, by id: String, offset: Int) -> [(String, String?)] {
            [
                ("__connect.errors.offset", "\(offset)"), ("replay-of", "notifications.dead-letters/1/\(deadLetter)"),
                ("replay", id),
            ]
        }
        for offset in [10, 12, 14] as [Int64] { note(offset, key: offset == 14 ? "n" : "o") }
        #expect(!candidates.contains { index.isLate($0) || index.isPutBack($0) || index.isDone($0) })
        note(11)
        #expect(index.isLate(candidates[0]) && !index.isLate(candidates[1]) && !index.isLate(candidates[2]))
        note(20, mark(1, by: "mine", offset: 12))
        #expect(index.isDone(candidates[1]) && !index.isPutBack(candidates[1]) && !index.isLate(candidates[1]))
        note(21, mark(0, by: "another", offset: 10))
        #expect(index.isPutBack(candidates[0]) && !index.isDone(candidates[0]))
        // Written back by kcat with all its headers.
        note(22, key: "n", Self.family(partition: 0, offset: 14))
        #expect(index.isPutBack(candidates[2]) && !index.isLate(candidates[2]))
    }

    @Test("newer events of a key count in each partition that it has had: by offset in the original one, else by time")
    func elsewhere() throws {
        let memory = Memory()
        let candidate = DeadLetterCandidate(
            coordinates: Coordinates(partition: 0, offset: 0), event: Self.event(0, 10), code: "no_place",
            type: "event_order_created", order: "o", time: 500, timestamp: 500, key: Array("o".utf8),
            touchesState: true,
            home: 0)
        func isLate(partition: Int32, offset: Int64, time: WallTime, _ pairs: [(String, String?)] = []) -> Bool {
            let index = PutBackIndex([candidate], dead: [candidate.event], configuration.topics, id: "mine")
            index.note(
                RecordView(
                    topic: "orders.events", partition: partition, offset: offset, timestamp: time,
                    key: memory.copy("o"),
                    value: nil, headers: 0..<0), of: .orders, headers: headers(pairs, memory))
            return index.isLate(candidate)
        }
        #expect(isLate(partition: 0, offset: 11, time: 0) && !isLate(partition: 0, offset: 9, time: 900))
        #expect(isLate(partition: 1, offset: 0, time: 500) && !isLate(partition: 1, offset: 99, time: 499))
        // An event that was put back counts at its original offset, wherever it is now.
        let mark: [(String, String?)] = [
            ("__connect.errors.partition", "0"), ("__connect.errors.offset", "9"),
            ("replay-of", "notifications.dead-letters/0/7"), ("replay", "x"),
        ]
        #expect(!isLate(partition: 1, offset: 3, time: 900, mark))
    }

    @Test("a key keeps its original partition, unless partitions may have been added since")
    func home() throws {
        let memory = Memory()
        let key = try #require(
            (0..<100).lazy.map { Array("k\($0)".utf8) }.first { Murmur2.partition(of: $0, count: 2) == 1 })
        func home(_ partitions: KeyPartitions, at time: WallTime = 500) -> Int32? {
            partitions.home(of: key, stood: 0, at: time)
        }
        // No partition is younger than the event.
        #expect(home(KeyPartitions(bounds: [0: 0..<9, 1: 0..<9], firsts: [0: 100, 1: 500])) == 0)
        #expect(home(KeyPartitions(bounds: [0: 0..<9, 1: 7..<9], firsts: [0: 100])) == 0)
        #expect(home(KeyPartitions(bounds: [0: 0..<9], firsts: [0: 900])) == 0)
        // One partition is younger, or has no record yet.
        var grown = KeyPartitions(bounds: [0: 0..<9, 1: 0..<9], firsts: [0: 100, 1: 501])
        #expect(home(grown) == 1 && home(grown, at: 501) == 0)
        #expect(home(KeyPartitions(bounds: [0: 0..<9, 1: 0..<0], firsts: [0: 100])) == 1)
        #expect(grown.home(of: nil, stood: 0, at: 500) == 0 && grown.home(of: key, stood: 1, at: 500) == 1)
        // If producers partition differently, the partition is unknown; records older than the young partition say
        // nothing.
        grown.note(partition: 0, key: memory.copy(String(decoding: key, as: UTF8.self)), time: 500)
        #expect(home(grown) == 1)
        grown.note(partition: 0, key: memory.copy(String(decoding: key, as: UTF8.self)), time: 501)
        #expect(home(grown) == nil && home(grown, at: 501) == 0)
        // A producer with stale metadata, which did not know the new partitions.
        let other = try #require(
            (0..<100).lazy.map { "k\($0)" }.first { Murmur2.partition(of: $0.utf8, count: 2) == 0 })
        grown.note(partition: 0, key: memory.copy(other), time: 502)
        #expect(home(grown) == 1)
    }

    @Test(
        "dead letters that changed since the plan are skipped: put back by another run, too old, overtaken; own ones are done"
    )
    func turn() throws {
        let memory = Memory()
        let candidate = DeadLetterCandidate(
            coordinates: Coordinates(partition: 1, offset: 4), event: Self.event(0, 10), code: "no_place",
            type: "event_order_created", order: "o", time: 500, timestamp: 500, key: Array("o".utf8),
            touchesState: true,
            home: 0)
        func index(_ pairs: [(String, String?)]?) -> PutBackIndex {
            let index = PutBackIndex([candidate], dead: [candidate.event], configuration.topics, id: "mine")
            guard let pairs else { return index }
            index.note(
                RecordView(
                    topic: "orders.events", partition: 0, offset: 20, timestamp: 900, key: memory.copy("o"), value: nil,
                    headers: 0..<0), of: .orders, headers: headers(pairs, memory))
            return index
        }
        var request = DeadLetterRequest()
        request.maxAge = 1_000
        #expect(request.verdict(on: candidate, index(nil), now: 1_500) == .send)
        #expect(request.verdict(on: candidate, index(nil), now: 1_501) == .leaveOut(.tooOld))
        #expect(request.verdict(on: candidate, index([]), now: 1_000) == .leaveOut(.late))
        let mark: [(String, String?)] = [
            ("__connect.errors.offset", "10"), ("replay-of", "notifications.dead-letters/1/4"), ("replay", "other"),
        ]
        #expect(request.verdict(on: candidate, index(mark), now: 1_000) == .leaveOut(.putBack))
        #expect(
            request.verdict(on: candidate, index(Self.family(partition: 0, offset: 10)), now: 1_000)
                == .leaveOut(.putBack))
        let own = Array(mark.dropLast()) + [("replay", "mine")]
        #expect(request.verdict(on: candidate, index(own), now: 1_000) == .sent)
        request.includesLate = true
        #expect(request.verdict(on: candidate, index([]), now: 1_000) == .send)
    }

    // MARK: What is kept

    @Test("an event survives a round trip through the store, with its nulls")
    func stored() throws {
        let store = try DeadLetterStore(Scratch())
        var full = ProducerRecord(
            key: [0, 0xFF], value: [], headers: [RecordHeader("a", nil), RecordHeader("", [0xFE])], partition: 4)
        full.timestamp = 77
        let events = [full, ProducerRecord(key: nil, value: nil), ProducerRecord(key: [], value: [1])]
        for (offset, event) in events.enumerated() {
            try store.append(event, at: Coordinates(partition: 0, offset: Int64(offset)))
        }
        for (offset, event) in events.enumerated() {
            #expect(try store.event(at: Coordinates(partition: 0, offset: Int64(offset))) == event)
        }
        #expect(throws: ScratchError.self) { try store.event(at: Coordinates(partition: 0, offset: 3)) }
    }

    @Test("a file of repaired values: each line names its dead letter, once")
    func file() throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        func read(_ text: String) throws -> [Coordinates: [UInt8]] {
            try Data(text.utf8).write(to: URL(filePath: folder.path + "/f"))
            return try RepairedFile.read(folder.path + "/f", topic: "dl")
        }
        let line = #"{"topic":"dl","partition":2,"offset":9,"payload":"x"}"#
        #expect(try read(line + "\n\n") == [Coordinates(partition: 2, offset: 9): Array("x".utf8)])
        #expect(try read(line.replacing(#""payload":"x""#, with: #""payload_base64":"/w==""#)).values.first == [0xFF])
        for bad in [
            line + "\n" + line, Self.good, line.replacing("dl", with: "other"),
            line.replacing(#""offset":9,"#, with: ""),
            line.replacing(#""x""#, with: "null"),
        ] {
            #expect(throws: UnfitRepairs.self) { try read(bad) }
        }
    }
}
