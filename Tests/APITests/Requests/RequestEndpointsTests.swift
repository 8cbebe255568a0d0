import Foundation
import HTTPServer
import KafkaClient
import Notifications
import Pipeline
import Telemetry
import Testing
import Time

@testable import API

@Suite("API: requests", .timeLimit(.minutes(30))) struct RequestEndpointsTests {
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
        let reads = TopicReads(logger: Logger(label: "test"))
        private let handler: APIHandler
        private let key: APIKey
        private let entry: KeyEntry

        /// - Parameter cluster: nil: nobody writes.
        init(
            _ cluster: MockCluster?, _ key: APIKey, _ entry: KeyEntry, isReady: Bool = true,
            _ change: (inout PipelineConfiguration) -> Void = { _ in }
        ) throws {
            played = try cluster.map { try PlayedWriter($0, topic: topic, timeout: .milliseconds(1500)) }
            self.key = key
            self.entry = entry
            var configuration = PipelineConfiguration(kafka: [:], stateDirectory: "", rules: try ExtractionRules())
            configuration.topics.requests = topic
            if let cluster { configuration.kafka = ["bootstrap.servers": cluster.bootstrapServers] }
            change(&configuration)
            let surroundings = APIHandler.Surroundings(
                now: { WallTime(milliseconds: 1_764_000_000_000) }, requestID: { "req_1" }, chance: { 0 })
            let (index, logger) = (RequestIndex(), Logger(label: "test"))
            let requests = try RequestEndpoints(
                configuration, played?.writer ?? RecordWriter(), index, reads, isReady: { isReady }, surroundings,
                logger: logger)
            let looks = LookEndpoints(configuration, index, reads, surroundings, logger: logger)
            handler = APIHandler(
                Router(requests.all + looks.all), KeyRing([entry]), .live, rate: 100_000, surroundings)
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
        _ change: (inout KeyEntry) -> Void = { _ in }, isReady: Bool = true,
        configured: (inout PipelineConfiguration) -> Void = { _ in }
    ) throws -> Process {
        var entry = KeyEntry(key, scopes: [.send])
        change(&entry)
        return try Process(cluster, key, entry, isReady: isReady, configured)
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
        "a position goes on as the header of the record, by which the pipeline waits; what is none is refused at the door"
    )
    func after() throws {
        let process = try make()
        func ask(_ method: String, _ target: String, after text: String) -> HTTPResponse {
            process.ask(method, target, Array(Self.good.utf8), Self.json + [("carillon-after", text)])
        }
        for text in ["x", "", "-1", "+1", " 1", "0/7", "1000000000000000000"] {
            for (method, target) in [
                ("PUT", "/v1/requests/1"), ("PUT", "/v1/requests/1?dry_run=1"), ("POST", "/v1/requests"),
            ] {
                let answer = ask(method, target, after: text)
                #expect(answer.status == .badRequest && answer.body.contains("bad-header"), "\(text)")
                #expect(answer.body.contains("allowed is what Carillon-Position has said"))
            }
        }
        #expect(ask("PUT", "/v1/requests/1", after: "4711").status == .accepted)
        #expect(ask("POST", "/v1/requests", after: "999999999999999999").status == .accepted)
        #expect(process.put("2").status == .accepted)
        // When it is sent is no part of what it is.
        #expect(ask("PUT", "/v1/requests/2", after: "4712").status == .ok)
        process.played?.end()
        let found = try written().map { record in
            record.headers.filter { $0.name == "after" }.map { String(decoding: $0.value ?? [], as: UTF8.self) }
        }
        #expect(found == [["4711"], ["999999999999999999"], []])
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
            ("{\"a\":18446744073709551616}", 400, "not-json", nil), ("{\"a\":NaN}", 400, "not-json", nil),
            ("\u{0}{\u{0}}", 400, "not-json", nil), (" ", 400, "not-json", nil),
            ("\"\(good)\"", 400, "not-json", nil), ("\"{}\"", 422, "bad_request", nil),
            ("{\"specversion\":\"1.0\",\"data\":\(good)}", 422, "bad_request", "/audience"),
            (good.replacing("user/17", with: "place/"), 422, "bad_request", "/audience"),
            (good.replacing("user/17", with: "Place/42"), 422, "bad_request", "/audience"),
            (good.replacing("user/17", with: "user/a\\u0001"), 422, "bad_request", "/audience"),
            (
                good.replacing("user/17", with: "user/" + String(repeating: "x", count: 1_020)), 422, "bad_request",
                "/audience"
            ),
            (good.replacing("\"user/17\"", with: "null"), 422, "bad_request", "/audience"),
            (good.replacing("\"app\"", with: "\"expires_at\":-1,\"app\""), 422, "bad_request", "/expires_at"),
            (good.replacing("\"type\"", with: "\"gcm.x\":1,\"type\""), 422, "bad_request", "/app/data/gcm.x"),
            ("{\"a\":01}", 400, "not-json", nil), ("{\"a\":1,}", 400, "not-json", nil), ("{} {}", 400, "not-json", nil),
            ("{}\0", 400, "not-json", nil), ("{\"a\":", 400, "not-json", nil),
            (String(repeating: "[", count: 70) + String(repeating: "]", count: 70), 400, "not-json", nil),
            ("{\"audience\":\"user/1\",\"audience\":\"user/2\"}", 400, "duplicate-member", "/audience"),
            ("{\"app\":{\"data\":[{\"x/y\":1,\"x/y\":1}]}}", 400, "duplicate-member", "/app/data/0/x~1y"),
            ("{\"b\":1,\"\":1,\"c\":[],\"\":1}", 400, "duplicate-member", "/"),
            ("{\"ab\":1,\"ba\":{\"ab\":1,\"c\":{}},\"c\":1,\"\\u0061b\":1}", 400, "duplicate-member", "/ab"),
            ("{\"ab\":1,\"ba\":[{\"ab\":1},{\"ab\":{\"ba\":1}}],\"a\":1}", 422, "bad_request", "/audience"),
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

    @Test("everything that is wrong with a body is told at once, and the first says what the problem is")
    func allAtOnce() throws {
        let process = try Process(nil, key, KeyEntry(key, scopes: [.send]))
        let answer = process.put(
            "x",
            #"{"audience":["user/1","team/7"],"request_id":"y","app":{"title":7,"titel":"a","data":{"type":"Generic"}},"a/b":1,"a/b":2}"#
        )
        #expect(answer.status == .badRequest)
        let problem = try #require(
            try JSONSerialization.jsonObject(with: Data(answer.body.utf8)) as? [String: Any])
        #expect(problem["code"] as? String == "duplicate-member")
        let errors = try #require(problem["errors"] as? [[String: String]])
        #expect(
            errors.map { "\($0["pointer"] ?? "") \($0["code"] ?? "")" } == [
                "/a~1b duplicate-member", "/request_id bad_request", "/a~1b bad_request", "/audience/1 bad_request",
                "/app/titel bad_request", "/app/title bad_request", "/app/body bad_request",
            ])
        #expect(problem["detail"] as? String == errors[0]["detail"])
        #expect(
            errors[4]["detail"]
                == #""titel" is not a member of app; allowed are title, body, imageUrl, data"#)
        let first = process.put("x", #"{"audience":"team/7","app":{"title":7,"body":"b","data":{"type":"Generic"}}}"#)
        #expect(first.status == .unprocessableContent)
        #expect(first.body.contains(#""detail":"audience is \"team/7\"; allowed is place/<id>"#))
    }

    @Test("a body with more than a hundred problems tells a hundred")
    func many() throws {
        let process = try Process(nil, key, KeyEntry(key, scopes: [.send]))
        let members = (0..<150).map { "\"x\($0)\":1,\"x\($0)\":1" }.joined(separator: ",")
        let answer = process.put("x", "{\"audience\":\"user/1\",\(members)}")
        #expect(answer.body.components(separatedBy: "\"pointer\"").count == 101)
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

    /// Writes the subscription of a device.
    private func subscribe(_ audience: String) throws {
        let (token, now) = ("a-made-up-token", WallTime(milliseconds: 1_764_000_000_000))
        let value = Subscription(audience: audience, token: token, platform: .fcm, app: "com.a", lastSeenAt: now)
            .encoded()
        let key = SubscriptionKey(audience: audience, token: token)
        var producer = try Producer(settings: ["bootstrap.servers": cluster.bootstrapServers])
        let topic = try producer.topic("notifications.subscriptions")
        try producer.produce(
            ProducerRecord(key: Array("\(key.audience)|\(key.tokenHash)".utf8), value: value), to: topic)
        try producer.flush(timeout: .seconds(60))
    }

    @Test("dry_run says what each provider would get and how many devices, and writes nothing, also while it starts")
    func dryRun() throws {
        try cluster.createTopic("notifications.subscriptions", partitions: 1)
        try subscribe("user/17")
        try subscribe("user/18")
        let process = try make({ $0.audiences = ["user/*"] }, isReady: false)
        func ask(_ body: String, query: String = "dry_run=1") -> HTTPResponse {
            process.ask("PUT", "/v1/requests/x?\(query)", Array(body.utf8))
        }
        let answer = ask(Self.good)
        #expect(answer.status == .ok && answer.body.contains(#""request_id":"x","message_id":"msg-"#))
        #expect(answer.body.contains(#""devices":{"fcm":1,"apns":0}"#), "\(answer.body)")
        #expect(answer.body.contains(#"\"notification\":{\"title\":\"Bill\""#), "\(answer.body)")
        #expect(answer.body.contains(#"{\"alert\":{\"title\":\"Bill\""#), "\(answer.body)")
        #expect(!answer.body.contains("a-made-up-token"))
        #expect(ask(Self.good, query: "dry_run=0").status == .badRequest)
        #expect(ask(#"{"audience":"team/1"}"#).status == .unprocessableContent)
        #expect(ask(Self.good.replacing("user/17", with: "place/1")).status == .forbidden)
        let posted = process.ask("POST", "/v1/requests?dry_run=1", Array(Self.good.utf8))
        #expect(posted.status == .ok && posted.body.contains(#""request_id":"req_1""#))
        process.played?.end()
        #expect(try written().isEmpty)
    }

    @Test("by the position of its record a request is found whenever it came; another record, and another's, is not")
    func record() throws {
        for topic in ["journal", "dispatch", "dead-letters", "deliveries"] {
            try cluster.createTopic("notifications.\(topic)", partitions: 1)
        }
        let process = try make()
        #expect(process.put("a").status == .accepted)
        let found = process.ask("GET", "/v1/requests/a?record=0-0")
        #expect(found.status == .ok && found.body.contains(#""status":"recorded""#), "\(found.body)")
        #expect(found.body.contains(#""record":"notifications.requests/0/0""#))
        for target in ["b?record=0-0", "a?record=0-1", "a?record=7-0"] {
            #expect(process.ask("GET", "/v1/requests/\(target)").status == .notFound)
        }
        process.limit { $0.audiences = ["place/*"] }
        #expect(process.ask("GET", "/v1/requests/a?record=0-0").status == .notFound)
        process.played?.end()
    }

    @Test("what is read beside four others is refused as overloaded; what needs no topics is answered")
    func busy() throws {
        let process = try Process(nil, key, KeyEntry(key, scopes: [.send, .readTraces]))
        let gate = DispatchSemaphore(value: 0)
        for _ in 0..<TopicReads.most { #expect(process.reads.begin { _ in gate.wait() }) }
        for target in ["explain?order=1", "explain?request=1", "deliveries", "requests/x?record=0-0"] {
            let answer = process.ask("GET", "/v1/\(target)")
            #expect(answer.status == .serviceUnavailable && answer.body.contains("\"code\":\"overloaded\""))
        }
        let dry = process.ask("PUT", "/v1/requests/x?dry_run=1", Array(Self.good.utf8))
        #expect(dry.status == .serviceUnavailable && dry.body.contains("\"code\":\"overloaded\""))
        #expect(process.ask("GET", "/v1/requests/x").status == .notFound)
        for _ in 0..<TopicReads.most { gate.signal() }
        while !process.reads.isIdle { sched_yield() }
    }

    @Test("what cannot be looked for is refused with what is allowed, and a bound key does not hear of the others")
    func refusedLooks() throws {
        let process = try Process(nil, key, KeyEntry(key, scopes: [.send, .readTraces]))
        let hash = String(repeating: "0", count: 64)
        for (target, words) in [
            ("explain", "allowed is order, request or broadcast"),
            ("explain?order=1&request=2", "allowed is order, request or broadcast"),
            ("explain?broadcast=1&order=2", "allowed is order, request or broadcast"),
            ("explain?order=1&device=\(hash.dropLast())", "64 digits of hex"),
            ("explain?order=1&from=yesterday", "from is no time"), ("deliveries?to=10:00", "to is no time"),
            ("requests/x?record=3", "record is no position"),
            ("requests/x?record=-1-2", "record is no position"),
            ("requests/x?record=1-9223372036854775807", "record is no position"),
            ("requests/x?record=1-99999999999999999999", "record is no position"),
        ] {
            let answer = process.ask("GET", "/v1/\(target)")
            #expect(answer.status == .badRequest && answer.body.contains(words), "\(target): \(answer.body)")
        }
        let broadcast = process.ask("GET", "/v1/explain?broadcast=1&device=\(hash)")
        #expect(broadcast.status == .notFound && broadcast.body.contains("topic.broadcasts is not set"))
        process.limit { $0.audiences = ["user/*"] }
        for target in ["explain?order=1", "deliveries"] {
            #expect(process.ask("GET", "/v1/\(target)").body.contains("audience-not-allowed"))
        }
        process.limit { $0.apps = ["com.a"] }
        #expect(process.ask("GET", "/v1/deliveries").body.contains("audience-not-allowed"))
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
    func wait() -> HTTPResponse {
        while true {
            if let given { return given }
            sched_yield()
        }
    }
}
