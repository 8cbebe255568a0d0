import Foundation
import HTTPServer
import KafkaClient
import Pipeline
import Testing
import Time

@testable import API

@Suite("API: requests", .timeLimit(.minutes(10))) struct RequestEndpointsTests {
    private static let topic = "notifications.requests"
    private static let json = [("content-type", "application/json")]
    private static let good =
        #"{"audience":"user/17","app":{"title":"Bill","body":"23.40","data":{"type":"NewBill"}}}"#

    private let cluster: MockCluster
    private let key = APIKey(.live)

    init() throws {
        cluster = try MockCluster()
        try cluster.createTopic(Self.topic, partitions: 1)
    }

    /// The API of a process, with its writer.
    private final class Process {
        let played: PlayedWriter?
        private let handler: APIHandler
        private let key: APIKey
        private let entry: KeyEntry

        /// - Parameter cluster: nil: nobody writes.
        init(
            _ cluster: MockCluster?, _ key: APIKey, _ entry: KeyEntry, isReady: Bool = true,
            _ change: (inout PipelineConfiguration) -> Void = { _ in }
        ) throws {
            played = try cluster.map { try PlayedWriter($0, topic: topic, timeout: "1500") }
            self.key = key
            self.entry = entry
            var configuration = PipelineConfiguration(kafka: [:], stateDirectory: "", rules: try ExtractionRules())
            configuration.topics.requests = topic
            change(&configuration)
            let surroundings = APIHandler.Surroundings(
                now: { WallTime(milliseconds: 1_764_000_000_000) }, requestID: { "req_1" }, chance: { 0 })
            let requests = try RequestEndpoints(
                configuration, played?.writer ?? RecordWriter(), RequestIndex(), isReady: { isReady }, surroundings)
            handler = APIHandler(Router(requests.all), KeyRing([entry]), .live, rate: 100_000, surroundings)
        }

        /// Gives the key other limits.
        func limit(_ change: (inout KeyEntry) -> Void) {
            var entry = entry
            change(&entry)
            handler.replace(KeyRing([entry]))
        }

        func ask(
            _ method: String, _ target: String, _ body: [UInt8] = [], _ headers: [(String, String)] = json
        ) -> HTTPResponse {
            var request = IncomingRequest(
                method: method, target: target,
                headers: ([("authorization", "Bearer " + key.text)] + headers).map { .init($0.0, $0.1) })
            guard case .read(_, let answer) = handler.admit(request) else { return HTTPResponse(.notFound, body: "") }
            request.body = body
            switch answer(request) {
            case .now(let response): return response
            case .later(let exchange, _): return exchange.wait()
            }
        }

        func put(_ id: String, _ body: String = good) -> HTTPResponse {
            ask("PUT", "/v1/requests/\(id)", Array(body.utf8))
        }
    }

    private func make(
        _ change: (inout KeyEntry) -> Void = { _ in }, configured: (inout PipelineConfiguration) -> Void = { _ in }
    ) throws -> Process {
        var entry = KeyEntry(key, scopes: [.send])
        change(&entry)
        return try Process(cluster, key, entry, configured)
    }

    private func header(_ response: HTTPResponse, _ name: String) -> String? {
        response.headers.first { $0.name == name }?.value
    }

    /// The values of all records.
    private func written() throws -> [ConsumerRecord] {
        var records: [ConsumerRecord] = []
        try TopicReader.readAll(
            Self.topic, settings: ["bootstrap.servers": cluster.bootstrapServers], logger: { _ in },
            take: { record, _ in records.append(record) })
        return records
    }

    @Test(
        "202 names the record; the same content again is 200 with the same record, however it is written; other content is 409"
    )
    func repeated() throws {
        let process = try make()
        let first = process.put("bill%2F1")
        #expect(first.status == .accepted)
        #expect(first.body.contains(#""request_id":"bill/1","message_id":"msg-"#))
        #expect(first.body.contains(#""record":"notifications.requests/0/0""#))
        let again = process.put(
            "bill%2F1",
            #" { "app" : {"data":{"type":"NewBill"},"body":"23.40","title":"Bill"}, "request_id":"bill/1", "audience":"user/17"}"#
        )
        #expect(again.status == .ok && again.body == first.body && header(again, "Idempotency-Replayed") == "true")
        let other = process.put("bill%2F1", Self.good.replacing("23", with: "24"))
        #expect(other.status == .conflict && other.body.contains("other-content"))
        #expect(process.ask("GET", "/v1/requests/bill%2F1").body.contains(#""record":"notifications.requests/0/0""#))
        #expect(process.ask("GET", "/v1/requests/bill%2F2").status == .notFound)
        process.played?.end()
        let records = try written()
        #expect(records.count == 1)
        #expect(records[0].key == Array("user/17".utf8))
        #expect(
            String(decoding: records[0].value ?? [], as: UTF8.self)
                == #"{"request_id":"bill/1","# + Self.good.dropFirst())
        #expect(records[0].headers == [RecordHeader("by", Array("key:\(key.id)".utf8))])
    }

    @Test("a POST is named by its body, by Idempotency-Key, or by nobody, and says where it is")
    func posted() throws {
        let process = try make()
        func post(_ body: String, _ more: [(String, String)] = []) -> HTTPResponse {
            process.ask("POST", "/v1/requests", Array(body.utf8), Self.json + more)
        }
        let named = post(Self.good, [("idempotency-key", "\"k/1\"")])
        #expect(named.status == .accepted && header(named, "Location") == "/v1/requests/k%2F1")
        #expect(header(named, "Carillon-Warning") == nil)
        let reused = post(Self.good.replacing("23", with: "24"), [("idempotency-key", "k/1")])
        #expect(reused.status == .unprocessableContent && reused.body.contains("idempotency-key-reused"))
        #expect(post(Self.good, [("idempotency-key", "a b")]).status == .badRequest)
        let own = #"{"request_id":"r1","# + Self.good.dropFirst()
        #expect(post(own).status == .accepted && post(own).status == .ok)
        #expect(post(own, [("idempotency-key", "other")]).body.contains("\"pointer\":\"/request_id\""))
        let unnamed = post(Self.good)
        #expect(header(unnamed, "Location") == "/v1/requests/req_1" && header(unnamed, "Carillon-Warning") != nil)
        process.played?.end()
    }

    @Test(
        "what the pipeline would refuse is refused here, with the place, and nothing is written",
        arguments: [
            ("", 400, "not-json", nil), ("null", 422, "bad_request", ""), ("[]", 422, "bad_request", ""),
            ("17", 422, "bad_request", ""), ("\u{FEFF}{}", 400, "not-json", nil),
            ("{\"audience\":\"\\ud800\"}", 400, "not-json", nil), ("{\"a\":1e400}", 400, "not-json", nil),
            ("{\"a\":01}", 400, "not-json", nil), ("{\"a\":1,}", 400, "not-json", nil), ("{} {}", 400, "not-json", nil),
            ("{}\0", 400, "not-json", nil), ("{\"a\":", 400, "not-json", nil),
            (String(repeating: "[", count: 70) + String(repeating: "]", count: 70), 400, "not-json", nil),
            ("{\"audience\":\"user/1\",\"audience\":\"user/2\"}", 400, "duplicate-member", "/audience"),
            ("{\"app\":{\"data\":[{\"x/y\":1,\"x/y\":1}]}}", 400, "duplicate-member", "/app/data/0/x~1y"),
            ("{}", 422, "bad_request", "/audience"), ("{\"data\":\(good)}", 422, "bad_request", "/audience"),
            (good.replacing("user/17", with: "team/7"), 422, "bad_request", "/audience"),
            (good.replacing("\"user/17\"", with: "[\"user/17\",\"place/\"]"), 422, "bad_request", "/audience/1"),
            (good.replacing("\"23.40\"", with: "7"), 422, "bad_request", "/app/body"),
            (good.replacing("\"title\"", with: "\"titel\""), 422, "bad_request", "/app/titel"),
            (good.replacing("\"app\"", with: "\"colapse_key\":\"x\",\"app\""), 422, "bad_request", "/colapse_key"),
            (good.replacing("\"app\"", with: "\"request_id\":null,\"app\""), 422, "bad_request", "/request_id"),
            (good.replacing("\"app\"", with: "\"request_id\":\"other\",\"app\""), 422, "bad_request", "/request_id"),
            (
                good.replacing("\"app\"", with: "\"expires_at\":\"2020-01-01T00:00:00Z\",\"app\""), 422, "bad_request",
                nil
            ),
            (good.replacing("Bill\"", with: String(repeating: "x", count: 5000) + "\""), 422, "payload_too_large", nil),
            (
                good.replacing("}}}", with: "},\"imageUrl\":\"https://x/y\"}}").replacing(
                    "NewBill\"", with: "NewBill\",\"imageUrl\":\"z\""), 422, "conflicting_value", nil
            ),
        ] as [(String, Int, String, String?)])
    func refused(body: String, status: Int, code: String, pointer: String?) throws {
        let process = try Process(nil, key, KeyEntry(key, scopes: [.send]))
        let answer = process.put("x", body)
        #expect(Int(answer.status.rawValue) == status)
        #expect(answer.body.contains("\"code\":\"\(code)\""), "\(answer.body)")
        if let pointer, !pointer.isEmpty {
            #expect(answer.body.contains("\"pointer\":\"\(pointer)\""), "\(answer.body)")
        }
    }

    @Test("a body that is not UTF-8 is refused as that, and an id with blanks at its ends or that is too long as well")
    func bytes() throws {
        let process = try make()
        let answer = process.ask("PUT", "/v1/requests/x", Array("{\"audience\":\"".utf8) + [0xFF] + Array("\"}".utf8))
        #expect(answer.status == .badRequest && answer.body.contains("bad-encoding"))
        for id in ["%20x", "x%20", String(repeating: "x", count: 256)] {
            #expect(process.put(id).status == .unprocessableContent)
        }
        #expect(process.put(String(repeating: "x", count: 255)).status == .accepted)
        process.played?.end()
    }

    @Test("a key reaches its audiences alone, and a key for some apps needs requests.apps to have no other")
    func limits() throws {
        let process = try make { $0.audiences = ["user/1*"] }
        #expect(process.put("a").status == .accepted)
        let refused = process.put("b", Self.good.replacing("\"user/17\"", with: "[\"user/17\",\"place/42\"]"))
        #expect(refused.status == .forbidden && refused.body.contains("may not reach place/42; allowed are user/1*"))
        process.played?.end()
        #expect(try make { $0.apps = ["com.a"] }.put("c").body.contains("app-not-allowed"))
        let apps = try make({ $0.apps = ["com.a", "com.b"] }, configured: { $0.requests.apps = ["com.a"] })
        #expect(apps.put("d").status == .accepted)
        apps.played?.end()
    }

    @Test("a key that may reach only some audiences does not hear of requests to others: they are as unknown ones")
    func otherAudiences() throws {
        let process = try make()
        #expect(process.put("a").status == .accepted)
        #expect(process.ask("GET", "/v1/requests/a").status == .ok)
        process.limit { $0.audiences = ["place/*"] }
        let hidden = process.ask("GET", "/v1/requests/a")
        #expect(hidden.status == .notFound)
        #expect(hidden.body == process.ask("GET", "/v1/requests/b").body)
        process.limit { $0.audiences = ["user/1*"] }
        #expect(process.ask("GET", "/v1/requests/a").status == .ok)
        process.played?.end()
    }

    @Test("where nobody writes nothing is recorded, and the client hears that; the id stays free")
    func notRecorded() throws {
        let process = try Process(nil, key, KeyEntry(key, scopes: [.send]))
        for _ in 0..<2 {
            let answer = process.put("a")
            #expect(answer.status == .serviceUnavailable && answer.body.contains("not-recorded"))
            #expect(header(answer, "Retry-After") == "1")
        }
        let starting = try Process(nil, key, KeyEntry(key, scopes: [.send]), isReady: false)
        #expect(starting.put("a").body.contains("\"code\":\"starting\""))
        #expect(starting.ask("GET", "/v1/requests/a").body.contains("\"code\":\"starting\""))
    }

    @Test("while the broker is away a client hears within the time whether its request was certainly not recorded")
    func away() throws {
        let process = try make()
        #expect(process.put("a").status == .accepted)
        try cluster.setBrokerDown(1)
        let answer = process.put("b")
        #expect(answer.status == .serviceUnavailable)
        #expect(answer.body.contains("not-recorded") || answer.body.contains("outcome-unknown"))
        try cluster.setBrokerUp(1)
        process.played?.end()
    }
}

extension HTTPExchange {
    /// The answer, once it is there.
    fileprivate func wait() -> HTTPResponse {
        while true {
            if let given { return given }
            sched_yield()
        }
    }
}
