import CarillonTesting
import Foundation
import KafkaClient
import Pipeline
import TestSupport
import Testing

@testable import Notifications
@testable import Replay
@testable import carillon

@Suite("Putting dead letters of requests back")
struct RequestDeadLetterTests {
    private static let good = """
        {"request_id":"r","audience":"user/17","app":{"title":"t","body":"b","data":{"type":"NewBill"}}}
        """
    private static let unknown = good.replacing("NewBill", with: "Parcel")
    private static let order = #"{"event_id":"e","event_type":"ORDER_CREATED","order":{"id":"o","place_id":"p"}}"#
    private static let now: WallTime = 1_751_871_600_000

    private var configuration: PipelineConfiguration

    init() throws {
        configuration = PipelineConfiguration(
            kafka: [:], stateDirectory: "", rules: try ExtractionRules(timeZone: "UTC"))
        configuration.topics.requests = "notifications.requests"
    }

    /// The headers that a pipeline appends to those of a record.
    private static func family(
        _ code: String = "bad_request", topic: String = "notifications.requests", partition: Int = 3, offset: Int = 17
    ) -> [(String, String?)] {
        [
            ("x-error-code", code), ("__connect.errors.topic", topic), ("__connect.errors.partition", "\(partition)"),
            ("__connect.errors.offset", "\(offset)"), ("__connect.errors.connector.name", "carillon"),
        ]
    }

    private func headers(_ pairs: [(String, String?)], _ memory: Memory) -> [EventHeader] {
        pairs.map { EventHeader(name: memory.copy($0.0), value: $0.1.map { memory.copy($0) }) }
    }

    private func judge(
        _ value: String = good, _ pairs: [(String, String?)] = family(),
        _ adjust: (inout DeadLetterRequest) -> Void = { _ in }, rules: (inout RequestRules) -> Void = { _ in }
    ) -> DeadLetterTrial.Verdict? {
        var request = DeadLetterRequest()
        request.maxAge = 3_600_000
        request.oldest = Self.now - 3_600_000
        adjust(&request)
        var configuration = configuration
        rules(&configuration.requests)
        var trial = DeadLetterTrial(request, configuration)
        let memory = Memory()
        let record = RecordView(
            topic: "notifications.dead-letters", partition: 1, offset: 5, timestamp: Self.now,
            key: memory.copy("user/17"), value: memory.copy(value), headers: 0..<0)
        return withExtendedLifetime(memory) { trial.judge(record, headers: headers(pairs, memory)) }
    }

    private func left(_ verdict: DeadLetterTrial.Verdict?) -> (why: DeadLetterLeft, code: DeadLetter.Code?)? {
        if case .left(let why, _, let letter) = verdict { (why, letter?.code) } else { nil }
    }

    private func candidate(_ verdict: DeadLetterTrial.Verdict?) -> DeadLetterCandidate? {
        if case .candidate(let candidate, _) = verdict { candidate } else { nil }
    }

    @Test("a request goes back as it came, with its first coordinates, and touches no order")
    func asItCame() throws {
        guard case .candidate(let candidate, let record) = judge(Self.good, [("traceparent", "00-1")] + Self.family())
        else {
            Issue.record("it stays")
            return
        }
        #expect(candidate.event == EventCoordinates(SourcePartition(.requests, 3), offset: 17))
        #expect(candidate.source == .requests && candidate.type == "app" && candidate.order == nil)
        #expect(!candidate.touchesState && candidate.code == "bad_request" && candidate.time == Self.now)
        #expect(record.key == Array("user/17".utf8) && record.value == Array(Self.good.utf8) && record.partition == 3)
        #expect(
            record.headers.map(\.name) == ["traceparent", "replay-of"]
                + ["topic", "partition", "offset"].map { "__connect.errors.\($0)" })
        let message = Self.good.replacing(
            #""app":{"title":"t","body":"b","data":{"type":"NewBill"}}"#, with: #""message":{"title":"t"}"#)
        #expect(self.candidate(judge(message))?.type == "message")
    }

    @Test("the present rules of requests decide, their settings among them")
    func trial() throws {
        #expect(left(judge(Self.unknown, rules: { $0.unknownTypes = .deadLetter }))?.code == .unknownType)
        #expect(candidate(judge(Self.unknown, rules: { $0.unknownTypes = .send })) != nil)
        let added = AppTypes(added: [.init("Parcel", ["view": "parcel"])])
        #expect(
            candidate(
                judge(
                    Self.unknown,
                    rules: {
                        $0.unknownTypes = .deadLetter
                        $0.appTypes = added
                    })) != nil)
        let conflict = Self.unknown.replacing(#""Parcel""#, with: #""Parcel","view":"other""#)
        #expect(left(judge(conflict, rules: { $0.appTypes = added }))?.code == .conflictingValue)
        #expect(candidate(judge(conflict)) != nil)
        #expect(left(judge("no JSON"))?.code == .invalidJSON)
        #expect(left(judge(Self.good.replacing("user/17", with: "team/7")))?.code == .badRequest)
        // Each topic by its own rules.
        #expect(left(judge(Self.order))?.code == .badRequest)
        #expect(candidate(judge(Self.order, Self.family("no_place", topic: "orders.events")))?.source == .orders)
        #expect(left(judge(Self.good, Self.family(topic: "orders.events")))?.why == .stillDead)
    }

    @Test("what a request alone does not show needs its code, and what nobody reads any more stays")
    func stays() throws {
        for code in ["payload_too_large", "too_many_devices", "record_refused", "transaction_timeout"] {
            #expect(left(judge(Self.good, Self.family(code)))?.why == .untried)
            #expect(candidate(judge(Self.good, Self.family(code)) { $0.codes = [code] }) != nil)
        }
        var off = self
        off.configuration.topics.requests = ""
        #expect(off.left(off.judge())?.why == .otherTopic)
        #expect(left(judge(Self.good, Self.family(topic: "")))?.why == .otherTopic)
        let old = Self.good.replacing(
            "{\"request_id\"", with: "{\"requested_at\":\((Self.now - 3_600_001).milliseconds),\"request_id\"")
        #expect(left(judge(old))?.why == .tooOld)
    }

    @Test("a request that has expired stays, at the plan and when its turn comes; one without expiry has requests.ttl")
    func expired() throws {
        func expiring(_ time: WallTime) -> String {
            Self.good.replacing("{\"request_id\"", with: "{\"expires_at\":\(time.milliseconds),\"request_id\"")
        }
        #expect(left(judge(expiring(Self.now)))?.why == .expired)
        let found = try #require(candidate(judge(expiring(Self.now + 1_000))))
        #expect(found.expiresAt == Self.now + 1_000)
        #expect(candidate(judge())?.expiresAt == Self.now + 86_400_000)
        #expect(left(judge(rules: { $0.timeToLive = .zero }))?.why == .expired)
        var request = DeadLetterRequest()
        let index = PutBackIndex([found], dead: [found.event], configuration.topics, id: "mine")
        #expect(request.verdict(on: found, index, now: Self.now + 999) == .send)
        #expect(request.verdict(on: found, index, now: Self.now + 1_000) == .leaveOut(.expired))
        request.maxAge = 500
        #expect(request.verdict(on: found, index, now: Self.now + 1_000) == .leaveOut(.tooOld))
    }

    @Test("a value that a person has repaired is judged instead of the request's own")
    func repaired() throws {
        let coordinates = Coordinates(partition: 1, offset: 5)
        let verdict = judge("no JSON") { $0.repaired = [coordinates: Array(Self.good.utf8)] }
        guard case .candidate(let candidate, let record) = verdict else {
            Issue.record("it stays")
            return
        }
        #expect(candidate.source == .requests && record.value == Array(Self.good.utf8))
        #expect(left(judge { $0.repaired = [coordinates: Array("no JSON".utf8)] })?.code == .invalidJSON)
    }

    @Test("each topic shows what is back in it, and requests have no newer ones")
    func behind() throws {
        let memory = Memory()
        func candidate(_ source: SourceKind, offset: Int64, deadLetter: Int64) -> DeadLetterCandidate {
            DeadLetterCandidate(
                coordinates: Coordinates(partition: 1, offset: deadLetter),
                event: EventCoordinates(SourcePartition(source, 0), offset: offset), code: "bad_request", type: "app",
                order: nil, time: 0, timestamp: 0, expiresAt: nil, key: Array("same key".utf8),
                touchesState: source == .orders, home: 0)
        }
        // The same offset in both topics.
        let (request, order) = (
            candidate(.requests, offset: 10, deadLetter: 0), candidate(.orders, offset: 10, deadLetter: 1)
        )
        let other = candidate(.requests, offset: 11, deadLetter: 2)
        func index(
            _ records: (source: SourceKind, offset: Int64, headers: [(String, String?)])...
        ) -> PutBackIndex {
            let candidates = [request, order, other]
            let index = PutBackIndex(candidates, dead: Set(candidates.map(\.event)), configuration.topics, id: "mine")
            for record in records {
                index.note(
                    RecordView(
                        topic: configuration.topics.topic(of: record.source), partition: 0, offset: record.offset,
                        timestamp: nil, key: memory.copy("same key"), value: nil, headers: 0..<0),
                    of: record.source, headers: headers(record.headers, memory))
            }
            return index
        }
        let newer = index((.requests, 20, []))
        #expect(!newer.isLate(request) && !newer.isLate(order) && !newer.isPutBack(request))
        let events = index((.orders, 20, []))
        #expect(!events.isLate(request) && events.isLate(order))
        let byHand = index((.requests, 20, Self.family(partition: 0, offset: 10)))
        #expect(byHand.isPutBack(request) && !byHand.isPutBack(order) && !byHand.isPutBack(other))
        // A request in the topic of events is not back where it belongs.
        #expect(!index((.orders, 20, Self.family(partition: 0, offset: 10))).isPutBack(request))
        func mark(_ deadLetter: Int, by id: String) -> [(String, String?)] {
            [("replay-of", "notifications.dead-letters/1/\(deadLetter)"), ("replay", id)]
        }
        let marked = index((.requests, 20, mark(0, by: "mine")), (.requests, 21, mark(2, by: "another")))
        #expect(
            marked.isDone(request) && !marked.isPutBack(request) && marked.isPutBack(other) && !marked.isDone(order))
    }

    @Test("the plan counts by topic and code, for a person and as JSON; without requests it has no topics")
    func counted() throws {
        var plan = DeadLetterPlan()
        for (topic, code) in [
            ("orders.events", "bad_request"), ("notifications.requests", "bad_request"), ("schedule", "record_refused"),
        ] { plan.find(code, of: topic) }
        plan.deadLetters = 3
        plan.select(try #require(candidate(judge())), of: "notifications.requests", in: "notifications.dead-letters")
        var report = DeadLettersReport(id: "i", plan: plan, topics: configuration.topics)
        #expect(
            report.text.hasPrefix(
                """
                3 dead letters in notifications.dead-letters → 1 event to put back into orders.events and \
                notifications.requests

                TOPIC                   CODE            DEAD LETTERS  PUT BACK
                notifications.requests  bad_request     1             1
                orders.events           bad_request     1             0
                schedule                record_refused  1             0

                to put back: 1 app

                """))
        let json = try report.json()
        #expect(json.contains(#""by_code":{"bad_request":{"dead_letters":2,"put_back":1},"#))
        #expect(json.contains(#""notifications.requests":{"bad_request":{"dead_letters":1,"put_back":1}}"#))
        report.topics.requests = ""
        #expect(report.text.contains("\nCODE            DEAD LETTERS  PUT BACK\nbad_request     2             1\n"))
    }
}
