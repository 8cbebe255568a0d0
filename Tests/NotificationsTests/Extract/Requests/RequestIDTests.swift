import Digests
import Testing

@testable import Notifications

@Suite("The message id of a request (docs/rules.md §6)")
struct RequestIDTests {
    private static let app = #""app":{"title":"a","body":"b","data":{"type":"Generic"}}"#
    private static let message = #""message":{"title":"a"}"#
    private static let long = String(repeating: "é", count: 127) + "x"

    private func id(
        _ members: String, headers: [(String, String)] = [], timestamp: WallTime? = requestTime
    ) -> String? {
        var record = requestRecord(#"{"audience":"user/17",\#(members)}"#, headers: headers)
        record.timestamp = timestamp
        return extractRequests([record])[0].request?.messageID
    }

    @Test("every row of the table of ids of requests")
    func vectors() {
        let own = #""request_id":"bills-2025-17""#
        let time = #""requested_at":"2025-07-07T08:02:17Z""#
        #expect(id("\(own),\(time),\(Self.app)") == "msg-1751875337000-wd53ja28t")
        #expect(id("\(own),\(time),\(Self.message)") == "msg-1751875337000-z0fokogv3")
        #expect(id("\(own),\(Self.app)") == "msg-0-wd53ja28t")
        let event = [("ce_source", "/billing"), ("ce_id", "4d47e190-0402-4048-bc2c-89dd54343cdc")]
        #expect(
            id(Self.app, headers: event + [("ce_time", "2025-07-07T08:02:17Z")]) == "msg-1751875337000-1dre5xr20")
        #expect(
            id(Self.message, headers: [("id", "ec9fc183-12b1-563a-ba0b-8db5a05cf0d0")]) == "msg-0-69akqi48g")
        #expect(id(Self.message, timestamp: 1_751_875_337_250) == "msg-1751875337250-mlvmwrc4x")
    }

    @Test("the first source that is present counts: request_id, ce_source and ce_id, id, coordinates")
    func precedence() {
        let headers = [("ce_source", "/billing"), ("ce_id", "1"), ("id", "2")]
        let own = #""request_id":"bills-2025-17""#
        #expect(id("\(own),\(Self.app)", headers: headers) == "msg-0-wd53ja28t")
        #expect(id(#""request_id":" ",\#(Self.app)"#, headers: headers) == id(Self.app, headers: headers))
        #expect(id(Self.app, headers: headers) == id(Self.app, headers: [("ce_source", "/billing"), ("ce_id", "1")]))
        #expect(id(Self.app, headers: [("ce_id", "1"), ("id", "2")]) == id(Self.app, headers: [("id", "2")]))
        #expect(id(Self.app, headers: [("id", "2")]) != id(Self.app))
    }

    @Test("a number is an id, printed as JavaScript does")
    func numbers() {
        #expect(id(#""request_id":17.0,\#(Self.app)"#) == id(#""request_id":"17",\#(Self.app)"#))
    }

    @Test("the time: requested_at, ce_time, 0 if the id is the request's own, else the record's")
    func time() {
        let both = #""request_id":"r","requested_at":"2025-07-07T08:02:18Z",\#(Self.app)"#
        let later = [("ce_time", "2025-07-07T08:02:19Z")]
        #expect(id(both, headers: later)?.hasPrefix("msg-1751875338000-") == true)
        #expect(id(#""request_id":"r",\#(Self.app)"#, headers: later)?.hasPrefix("msg-1751875339000-") == true)
        #expect(id(Self.app, headers: [("ce_time", "tomorrow")])?.hasPrefix("msg-1751875337000-") == true)
        #expect(id(Self.app, timestamp: nil)?.hasPrefix("msg-0-") == true)
        #expect(id(Self.app, timestamp: -5)?.hasPrefix("msg-0-") == true)
        #expect(id(Self.app, timestamp: .distantFuture)?.hasPrefix("msg-253402300799999-") == true)
    }

    @Test(
        "§8.1: the header request-id is the id, or its hash where no header can hold it",
        arguments: [
            (#""request_id":" bills-2025-17 ""#, [], "bills-2025-17"), (#""request_id":17.0"#, [], "17"),
            (#""request_id":null"#, [("ce_source", "/billing"), ("ce_id", "1"), ("id", "2")], "1"),
            (#""request_id":null"#, [("ce_id", "1"), ("id", "2")], "2"),
            (#""request_id":null"#, [("ce_id", "1")], nil), (#""request_id":null"#, [], nil),
            (#""request_id":"\#(long)""#, [], long),
            (#""request_id":"\#(long)x""#, [], SHA256.hex(of: long + "x")),
            (#""request_id":"a\tb""#, [], SHA256.hex(of: "a\tb")),
        ] as [(String, [(String, String)], String?)])
    func header(member: String, headers: [(String, String)], expected: String?) {
        let record = requestRecord(#"{"audience":"user/17",\#(member),\#(Self.app)}"#, headers: headers)
        #expect(extractRequests([record])[0].request.map(\.id) == .some(expected))
    }

    @Test("a dead letter that is written back keeps its id")
    func putBack() {
        let original = [
            ("x-error-code", "bad_request"), ("__connect.errors.topic", "notifications.requests"),
            ("__connect.errors.partition", "3"), ("__connect.errors.offset", "4711"),
        ]
        var again = requestRecord(#"{"audience":"user/17",\#(Self.message)}"#, headers: original)
        again.topic = "elsewhere"
        again.offset = 0
        again.timestamp = 1_751_875_337_250
        #expect(extractRequests([again])[0].request?.messageID == "msg-1751875337250-mlvmwrc4x")
    }
}
