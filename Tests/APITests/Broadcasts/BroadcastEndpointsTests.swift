import Foundation
import HTTPServer
import Hosting
import KafkaClient
import NotificationPayload
import Notifications
import Pipeline
import Telemetry
import Testing
import Time

@testable import API

@Suite("API: broadcasts", .timeLimit(.minutes(30))) struct BroadcastEndpointsTests {
    private static let topic = "notifications.broadcasts"
    private static let now: WallTime = 1_764_000_000_000
    private static let good =
        #"{"actiontype":"display","notificationtype":"downtime","expiry":"3600000millis","fields":[{"language":"en","title":"t","msg":"m"}]}"#

    private let cluster: MockCluster
    private let key = APIKey(.live)

    init() throws {
        cluster = try MockCluster()
        try cluster.createTopic(Self.topic, partitions: 1)
        try cluster.createTopic("\(Self.topic).journal", partitions: 1)
        try cluster.createTopic("notifications.subscriptions", partitions: 2)
    }

    /// The API of a process, with its writer and its view of the broadcasts.
    private final class Process: Sendable {
        let played: PlayedWriter
        let reads = TopicReads(logger: Logger(label: "test"))
        private let host = RoleHost()
        private let crew = Crew()
        private let handler: APIHandler
        private let key: APIKey

        init(_ cluster: MockCluster, _ key: APIKey, _ entry: KeyEntry) throws {
            played = try PlayedWriter(cluster, topic: topic, timeout: .milliseconds(1500))
            self.key = key
            var configuration = PipelineConfiguration(
                kafka: ["bootstrap.servers": cluster.bootstrapServers, "reconnect.backoff.max.ms": "200"],
                stateDirectory: "", rules: try ExtractionRules())
            configuration.topics.broadcasts = topic
            configuration.api.wait = .seconds(10)
            let surroundings = APIHandler.Surroundings(
                now: { BroadcastEndpointsTests.now }, requestID: { "req_1" }, chance: { 0 })
            let (decisions, logger) = (BroadcastDecisions(), Logger(label: "test"))
            let follower = BroadcastFollower(configuration, logger: logger, metrics: Metrics())
            let broadcasts = BroadcastEndpoints(
                configuration, played.writer, decisions, reads, surroundings, logger: logger)
            handler = APIHandler(Router(broadcasts.all), KeyRing([entry]), .live, rate: 100_000, surroundings)
            crew.start("broadcasts") { [host] in try follower.run(on: host) }
            crew.start("decisions") { [host] in decisions.run(on: host) { follower.view } }
        }

        func limit(_ entry: KeyEntry) { handler.replace(KeyRing([entry])) }

        func ask(
            _ method: String, _ target: String, _ body: String = "", _ headers: [(String, String)] = []
        ) -> HTTPResponse {
            let all = [("authorization", "Bearer " + key.text), ("content-type", "application/json")] + headers
            var request = IncomingRequest(method: method, target: target, headers: all.map { .init($0.0, $0.1) })
            switch handler.admit(request) {
            case .refuse(let response): return response
            case .read(_, let answer):
                request.body = Array(body.utf8)
                switch answer(request) {
                case .now(let response): return response
                case .later(let exchange, _): return exchange.wait()
                }
            }
        }

        func put(_ target: String, _ body: String = good, _ headers: [(String, String)] = []) -> HTTPResponse {
            ask("PUT", "/v1/broadcasts/\(target)", body, headers)
        }

        func end() {
            host.drain()
            reads.end()
            while !crew.isEmpty || !reads.isIdle { sched_yield() }
            played.end()
        }
    }

    private func make(_ change: (inout KeyEntry) -> Void = { _ in }) throws -> Process {
        try Process(cluster, key, entry(change))
    }

    private func entry(_ change: (inout KeyEntry) -> Void = { _ in }) -> KeyEntry {
        var entry = KeyEntry(key, scopes: [.broadcast])
        change(&entry)
        return entry
    }

    private func header(_ response: HTTPResponse, _ name: String) -> String? {
        response.headers.first { $0.name == name }?.value
    }

    private func written() throws -> [ConsumerRecord] {
        var records: [ConsumerRecord] = []
        try TopicReader.readAll(
            Self.topic, settings: ["bootstrap.servers": cluster.bootstrapServers], logger: { _ in },
            take: { record, _ in records.append(record) })
        return records
    }

    /// As another process would.
    private func write(_ value: String?, _ key: String, to topic: String = topic) throws {
        var producer = try Producer(settings: ["bootstrap.servers": cluster.bootstrapServers])
        let topic = try producer.topic(topic)
        try producer.produce(ProducerRecord(key: Array(key.utf8), value: value.map { Array($0.utf8) }), to: topic)
        try producer.flush(timeout: .seconds(30))
    }

    @Test(
        "202 names the record; while it is live the same content is 200, however it is written, and another is 409 with what to say"
    )
    func repeated() throws {
        let process = try make()
        let first = process.put(
            "b%2F1", Self.good,
            [("traceparent", "00-\(String(repeating: "a", count: 32))-\(String(repeating: "b", count: 16))-01")])
        #expect(first.status == .accepted && header(first, "ETag") == "\"0-0\"", "\(first.body)")
        #expect(first.body.contains(#""id":"b/1","message_id":"msg-1764000000000-"#), "\(first.body)")
        #expect(first.body.contains(#""record":"notifications.broadcasts/0/0""#))
        let again = process.put(
            "b%2F1",
            #"{ "notificationid":"b/1","fields":[{"msg":"m","title":"t","language":"en"}], "expiry":"3600000millis","notificationtype":"downtime","actiontype":"display" }"#
        )
        #expect(again.status == .ok && again.body == first.body && header(again, "Idempotency-Replayed") == "true")
        let other = process.put("b%2F1", Self.good.replacing("\"m\"", with: "\"n\""))
        #expect(
            other.status == .conflict && other.body.contains("\"code\":\"live\"") && header(other, "ETag") == "\"0-0\"")
        let dated = process.put("b%2F1", Self.good.dropLast() + #","published_at":1763999999}"#)
        #expect(dated.status == .conflict, "when it is published counts where the client says it")
        process.end()
        let records = try written()
        #expect(records.count == 1 && records[0].key == Array("b/1".utf8))
        #expect(
            String(decoding: records[0].value ?? [], as: UTF8.self)
                == Self.good.dropLast() + #","notificationid":"b/1","published_at":"2025-11-24T16:00:00.000Z"}"#)
        #expect(records[0].headers.map(\.name) == ["by", "traceparent"])
    }

    @Test(
        "a live one is replaced by ?replace=1 or the right If-Match; another If-Match is 412, also where nothing is live"
    )
    func replaced() throws {
        let process = try make()
        #expect(process.put("1", Self.good, [("if-match", "*")]).status == .preconditionFailed)
        #expect(process.put("1").status == .accepted)
        let other = Self.good.replacing("\"m\"", with: "\"n\"")
        let wrong = process.put("1", other, [("if-match", "\"0-7\"")])
        #expect(wrong.status == .preconditionFailed && header(wrong, "ETag") == "\"0-0\"")
        #expect(process.put("1", other, [("if-match", "\"0-0\"")]).status == .accepted)
        #expect(process.put("1?replace=1").status == .accepted)
        #expect(process.put("1", other, [("if-match", "*")]).status == .accepted)
        #expect(process.put("1?replace=2").status == .badRequest)
        #expect(process.put("1", Self.good, [("if-match", "0-7")]).status == .badRequest)
        process.end()
        #expect(try written().count == 4)
    }

    @Test("GET says how far it is, the list has what is valid, and DELETE what it has reached; then it is over")
    func cancelled() throws {
        let process = try make()
        #expect(process.put("1").status == .accepted)
        let status = process.ask("GET", "/v1/broadcasts/1")
        #expect(status.status == .ok && header(status, "ETag") == "\"0-0\"", "\(status.body)")
        let value = try #require(PushValue(json: status.body))
        #expect(value["state"] == .string("waiting") && value["partitions"]?["total"]?.int == 2)
        let list = try #require(PushValue(json: process.ask("GET", "/v1/broadcasts").body))
        guard case .array(let items)? = list["items"] else { throw CocoaError(.coderReadCorrupt) }
        #expect(items.count == 1 && items[0]["id"] == .string("1"))
        let cancelled = process.ask("DELETE", "/v1/broadcasts/1")
        #expect(cancelled.status == .ok)
        #expect(cancelled.body.contains(#""state":"cancelled","reached":0,"joined_later":0"#), "\(cancelled.body)")
        #expect(process.ask("DELETE", "/v1/broadcasts/1").status == .noContent)
        let over = process.ask("GET", "/v1/broadcasts/1")
        #expect(over.body.contains(#""state":"cancelled""#) && header(over, "ETag") == nil)
        #expect(process.ask("GET", "/v1/broadcasts").body == #"{"items":[]}"# + "\n")
        #expect(process.ask("GET", "/v1/broadcasts/2").status == .notFound)
        #expect(process.put("1").status == .accepted, "the id is free again")
        process.end()
    }

    @Test("what another process has written before a PUT or DELETE comes is seen by it")
    func elsewhere() throws {
        let process = try make()
        let value = Self.good.dropLast() + #","notificationid":"1","published_at":1764000000}"#
        for number in 0..<3 {
            try write(String(value), "1")
            #expect(process.put("1", Self.good.replacing("\"m\"", with: "\"\(number)\"")).status == .conflict)
            #expect(process.ask("DELETE", "/v1/broadcasts/1").status == .ok)
            #expect(process.put("1", Self.good).status == .accepted)
            try write(nil, "1")
            #expect(process.ask("DELETE", "/v1/broadcasts/1").status == .noContent)
        }
        process.end()
    }

    @Test(
        "a DELETE of what the topic does not have writes the tombstone, too: a PUT without an answer may still come to be there"
    )
    func unknown() throws {
        let process = try make()
        try cluster.setBrokerDown(1)
        let sent = process.put("1")
        #expect(sent.status == .serviceUnavailable, "\(sent.body)")
        try cluster.setBrokerUp(1)
        var answer = process.ask("DELETE", "/v1/broadcasts/1")
        // Its clients connect again.
        while answer.status == .serviceUnavailable { answer = process.ask("DELETE", "/v1/broadcasts/1") }
        #expect(answer.status == .noContent || answer.status == .ok)
        process.end()
        let last = try #require(try written().last)
        #expect(last.key == Array("1".utf8) && last.value == nil)
    }

    @Test("a key reaches its channels alone: it sends to no other, takes no id of another, and does not hear of it")
    func limits() throws {
        let process = try make()
        #expect(process.put("1", Self.good.dropLast() + #","channel":"b"}"#).status == .accepted)
        process.limit(entry { $0.audiences = ["channel/a*"] })
        let mine = String(Self.good.dropLast() + #","channel":"a1"}"#)
        #expect(process.put("2").body.contains("may not reach channel/General; allowed are channel/a*"))
        #expect(process.put("2", mine).status == .accepted)
        for target in ["1", "1?replace=1"] { #expect(process.put(target, mine).status == .conflict) }
        #expect(process.put("1", mine, [("if-match", "*")]).status == .conflict)
        let hidden = process.ask("GET", "/v1/broadcasts/1")
        #expect(hidden.status == .notFound && hidden.body == process.ask("GET", "/v1/broadcasts/7").body)
        #expect(process.ask("DELETE", "/v1/broadcasts/1").status == .notFound)
        let list = process.ask("GET", "/v1/broadcasts").body
        #expect(list.contains("channel/a1") && !list.contains("channel/b"))
        process.limit(entry { $0.apps = ["com.a"] })
        #expect(process.put("3").body.contains("app-not-allowed"))
        #expect(process.ask("DELETE", "/v1/broadcasts/2").body.contains("app-not-allowed"))
        process.limit(entry { $0.scopes = [.send] })
        #expect(process.put("3").body.contains("needed is broadcast"))
        process.end()
        #expect(try written().count == 2)
    }

    @Test("with max_devices the channel is counted first: more are 409 with their number, and nothing is written")
    func counted() throws {
        for number in 0..<3 {
            let token = "\(100_000 + number)"
            let key = SubscriptionKey(audience: "channel/General", token: token)
            let subscription = Subscription(
                audience: "channel/General", token: token, platform: .fcm, app: "a", lastSeenAt: Self.now)
            try write(
                String(decoding: subscription.encoded(), as: UTF8.self), "\(key.audience)|\(key.tokenHash)",
                to: "notifications.subscriptions")
        }
        let process = try make()
        let refused = process.put("1?max_devices=2")
        #expect(
            refused.status == .conflict && refused.body.contains("channel/General has 3 devices"), "\(refused.body)")
        #expect(try written().isEmpty)
        let beside = try process.reads.large { process.put("1?max_devices=3") }
        #expect(beside.status == .serviceUnavailable && beside.body.contains("overloaded"))
        let accepted = process.put("1?max_devices=3")
        #expect(accepted.status == .accepted && accepted.body.contains("\"devices\":3"), "\(accepted.body)")
        for wrong in ["x", "-1", "1000001", ""] { #expect(process.put("2?max_devices=\(wrong)").status == .badRequest) }
        process.end()
    }

    @Test("what carillon broadcasts would refuse is refused here, and nothing is written")
    func refused() throws {
        let process = try make()
        let long = String(repeating: "x", count: 5_000)
        for (body, status, code, pointer) in [
            ("", 400, "not-json", nil), ("[]", 422, "bad_request", nil), ("{}", 422, "bad_request", "/actiontype"),
            (Self.good.replacing("\"expiry\"", with: "\"expiry\":1,\"expiry\""), 400, "duplicate-member", "/expiry"),
            (Self.good.replacing("3600000millis", with: "36"), 422, "bad_request", "/expiry"),
            (Self.good.replacing("\"fields\"", with: "\"colour\":1,\"fields\""), 422, "bad_request", nil),
            (
                Self.good.replacing("{\"act", with: "{\"notificationid\":\"2\",\"act"), 422, "bad_request",
                "/notificationid"
            ),
            (
                Self.good.replacing("{\"act", with: "{\"notificationid\":null,\"act"), 422, "bad_request",
                "/notificationid"
            ),
            (Self.good.replacing("{\"act", with: "{\"channel\":\"\\u0000\",\"act"), 422, "bad_request", "/channel"),
            (
                Self.good.replacing("\"m\"", with: "\"\(long)\""), 422, "payload_too_large",
                nil
            ),
            (Self.good.replacing("{\"act", with: "{\"published_at\":1,\"act"), 422, "bad_request", nil),
        ] as [(String, Int, String, String?)] {
            let answer = process.put("1", body)
            #expect(
                Int(answer.status.rawValue) == status && answer.body.contains("\"code\":\"\(code)\""), "\(answer.body)")
            if let pointer { #expect(answer.body.contains("\"pointer\":\"\(pointer)\""), "\(answer.body)") }
        }
        process.end()
        #expect(try written().isEmpty)
    }
}
