import TestSupport
import Testing

@testable import Notifications

@Suite("Time grows as the record does")
struct LinearExtractionTests {
    /// A record of an adversarial shape, of about `size` bytes.
    struct Shape: CustomTestStringConvertible, Sendable {
        enum Kind { case orders, requests, broadcasts, survey }

        var testDescription: String
        var kind = Kind.orders
        var size = 200_000
        /// What `events.members` says.
        var mapping = "{}"
        var make: @Sendable (_ size: Int) -> TestRecord
    }

    private static func members(_ size: Int) -> String {
        (0..<size / 12).map { #""x\#($0)":1"# }.joined(separator: ",")
    }

    private static func ids(_ count: Int) -> String { (0..<count).map { #""o\#($0)""# }.joined(separator: ",") }

    private static func request(_ members: String) -> TestRecord {
        TestRecord(#"{"request_id":"r","audience":"user/1",\#(members)}"#)
    }

    private static func broadcast(_ members: String) -> TestRecord {
        TestRecord(
            #"{"actiontype":"non-display","notificationtype":"enable-feature","notificationid":"1235","expiry":"60000millis",\#(members)}"#,
            key: "1235")
    }

    private static func repeated(_ text: String, _ size: Int) -> String {
        String(repeating: text, count: size / text.utf8.count)
    }

    private static let mapping =
        #"{"orders":["items"],"order.id":["orderId"],"order.status":["x1.x2","x1.x3","x1.none"]}"#

    static let shapes: [Shape] = [
        Shape(testDescription: "an order with many members") { TestRecord(created(members($0))) },
        Shape(testDescription: "an order with one member many times") {
            TestRecord(created((0..<$0 / 8).map { _ in #""id":"a""# }.joined(separator: ",")))
        },
        Shape(testDescription: "an order with a long text of escapes") {
            TestRecord(created(#""note":"\#(repeated("\\u0041\\n", $0))""#))
        },
        Shape(testDescription: "an order in brackets as deep as they may be") {
            TestRecord(created(#""x":[\#(repeated(repeated("[", 60) + repeated("]", 60) + ",", $0))1]"#))
        },
        Shape(testDescription: "an event with many headers") {
            TestRecord(created(""), headers: (0..<$0 / 10).map { ("traceparent", "no \($0)") })
        },
        Shape(testDescription: "a date with much white space around it", size: 400_000) {
            TestRecord(created(#""order_date":"\#(repeated(" ", $0))2025-07-07""#))
        },
        Shape(testDescription: "envelopes in envelopes") { size in
            let inner = (0..<7).reduce(created(#""note":"\#(repeated("a", size))""#)) { body, _ in
                #"{"schema":{},"payload":\#(body)}"#
            }
            return TestRecord(inner)
        },
        Shape(testDescription: "a list of orders beside many members, without a place of its own", size: 100_000) {
            let orders = (0..<$0 / 100).map { #"{"id":"o\#($0)","place_id":"p\#($0 % 2)"}"# }
            return TestRecord(
                #"{"event_type":"ORDER_IDS_LISTED","orders":[\#(orders.joined(separator: ","))],\#(members($0))}"#)
        },
        Shape(testDescription: "an order with many members, two of them mapped", mapping: mapping) {
            TestRecord(created(#"\#(members($0)),"x1":{\#(members($0))},"orderId":"o""#))
        },
        Shape(testDescription: "an order with one mapped name many times", mapping: mapping) {
            TestRecord(created((0..<$0 / 12).map { _ in #""orderId":1"# }.joined(separator: ",")))
        },
        Shape(
            testDescription: "a list of mapped orders beside many members, without a place of its own", size: 100_000,
            mapping: mapping
        ) {
            let orders = (0..<$0 / 100).map { #"{"orderId":"o\#($0)","place_id":"p\#($0 % 2)"}"# }
            return TestRecord(
                #"{"event_type":"ORDER_IDS_LISTED","items":[\#(orders.joined(separator: ","))],\#(members($0))}"#)
        },
        Shape(testDescription: "a list of ids with a long id of the event", size: 100_000) {
            TestRecord(
                #"{"event_type":"ORDER_IDS_LISTED","place_id":"p","event_id":"\#(repeated("e", $0))","order_ids":[\#(ids($0 / 100))]}"#
            )
        },
        Shape(testDescription: "a list of ids, each many times") {
            TestRecord(
                #"{"event_type":"ORDER_IDS_LISTED","place_id":"p","order_ids":[\#(ids(100)),\#(repeated(#""o1","#, $0))"o2"]}"#
            )
        },
        Shape(testDescription: "a list of what is no id") {
            TestRecord(
                #"{"event_type":"ORDER_IDS_LISTED","place_id":"p","order_ids":[\#(repeated("{},[],", $0))"o2"]}"#)
        },
        Shape(testDescription: "a list beside many headers", size: 100_000) {
            TestRecord(
                #"{"event_type":"ORDER_IDS_LISTED","place_id":"p","order_ids":[\#(ids($0 / 100))]}"#,
                headers: (0..<$0 / 10).map { ("ce_x", "no \($0)") })
        },
        Shape(testDescription: "a request with many members of its own", kind: .requests) {
            request(#""message":{"title":"a","extras":{\#(members($0))}}"#)
        },
        Shape(testDescription: "a request with one member many times", kind: .requests) {
            request(#""message":{"title":"a","extras":{\#(repeated(#""a":1,"#, $0))"b":1}}"#)
        },
        Shape(testDescription: "an app's keys in quotes", kind: .requests) {
            request(#""app":{"title":"a","body":"b","data":{"type":"T","\#(repeated("”", $0))a":1}}"#)
        },
        Shape(testDescription: "many audiences of a request", kind: .requests, size: 10_000) {
            let audiences = (0..<$0 / 20).map { #""user/\#($0)""# }
            return TestRecord(
                #"{"request_id":"r","audience":[\#(audiences.joined(separator: ","))],"message":{"title":"a"}}"#)
        },
        Shape(testDescription: "an audience of a request many times", kind: .requests) {
            TestRecord(
                #"{"request_id":"r","audience":[\#(repeated(#""user/1","#, $0))"user/2"],"message":{"title":"a"}}"#)
        },
        Shape(testDescription: "a broadcast with a long text of escapes", kind: .broadcasts) {
            broadcast(#""data":"\#(repeated("\\u0041\\n", $0))""#)
        },
        Shape(testDescription: "a broadcast with many members", kind: .broadcasts) { broadcast(members($0)) },
        Shape(testDescription: "the names of an order with many members", kind: .survey) {
            TestRecord(created(members($0)))
        },
        Shape(testDescription: "the names of many objects in a list", kind: .survey) {
            TestRecord(created(#""a":[\#(repeated(#"{"b":[{"c":{"d":1}}]},"#, $0))1]"#))
        },
    ]

    @Test("twice the size takes at most 2.3 times the time, whatever the shape", arguments: shapes)
    func growth(_ shape: Shape) throws {
        let rules = try ExtractionRules(members: MemberMapping(json: Array(shape.mapping.utf8)))
        var once = Trial(shape.kind, shape.make(shape.size), rules)
        var twice = Trial(shape.kind, shape.make(2 * shape.size), rules)
        let growth = Growth({ once.run() }, twice: { twice.run() })
        #expect(growth.isLinear, "\(growth)")
    }
}

/// One record, extracted again and again.
private struct Trial: ~Copyable {
    private let kind: LinearExtractionTests.Shape.Kind
    private let owned: [OwnedBytes]
    private var batch: EventBatch
    private var orders: Extractor
    private var requests = RequestExtractor(rules: RequestRules())
    private var broadcasts = BroadcastExtractor()
    private var survey: EventSurvey

    init(_ kind: LinearExtractionTests.Shape.Kind, _ record: TestRecord, _ rules: ExtractionRules) {
        let value = OwnedBytes(record.value ?? [])
        let key = OwnedBytes(record.key ?? [])
        let headers = record.headers.flatMap { [OwnedBytes(Array($0.name.utf8)), OwnedBytes($0.value ?? [])] }
        var batch = EventBatch(kind == .requests ? .requests : .orders, topic: "t")
        batch.headers = record.headers.indices.map {
            EventHeader(name: headers[2 * $0].bytes, value: headers[2 * $0 + 1].bytes)
        }
        batch.records = [
            EventRecord(
                partition: 0, offset: 0, timestamp: 0, key: key.bytes, value: value.bytes,
                headers: 0..<record.headers.count)
        ]
        self.kind = kind
        self.batch = batch
        owned = [value, key] + headers
        orders = Extractor(rules: rules)
        survey = EventSurvey(rules)
    }

    mutating func run() {
        batch.removeNotifications()
        switch kind {
        case .orders:
            var history = NoHistory()
            _ = orders.extract(0, in: &batch, history: &history)
        case .requests: _ = requests.extract(0, in: &batch)
        case .broadcasts: _ = broadcasts.extract(batch.records[0], headers: batch.headers[...])
        case .survey: survey.add(batch.records[0].value, headers: batch.headers[...])
        }
    }
}
