import Foundation
import HTTPServer
import KafkaClient
import Pipeline
import Testing
import Time

@testable import API

@Suite("API: events", .timeLimit(.minutes(30))) struct EventEndpointsTests {
    private static let topic = "orders.events"
    private static let good = #"{"event_type":"ORDER_CREATED","event_id":"e1","order":{"id":"4711","place_id":"42"}}"#

    private let cluster: MockCluster
    private let key = APIKey(.live)

    init() throws {
        cluster = try MockCluster()
        try cluster.createTopic(Self.topic, partitions: 3)
    }

    /// The API of a process, with its writers.
    private final class Process: Sendable {
        private let played: PlayedWriter
        private let batches = BatchWriter(topic: topic)
        private let ended = DispatchSemaphore(value: 0)
        private let handler: APIHandler
        private let key: APIKey

        init(
            _ cluster: MockCluster, _ key: APIKey, onMissingOrderID: ExtractionRules.MissingOrderID = .send,
            _ change: (inout KeyEntry) -> Void = { _ in }
        ) throws {
            played = try PlayedWriter(cluster, topic: topic)
            self.key = key
            var configuration = PipelineConfiguration(
                kafka: ["bootstrap.servers": cluster.bootstrapServers], stateDirectory: "",
                rules: try ExtractionRules(onMissingOrderID: onMissingOrderID))
            configuration.api.wait = .seconds(30)
            let (settings, batches, ended) = (BatchWriter.settings(configuration), batches, ended)
            Thread {
                do {
                    try batches.run(
                        make: {
                            KafkaBatchProducer(
                                try Producer(settings: settings, transactionalID: "carillon-api-a", reportsEach: true))
                        }, tell: { _ in })
                } catch {
                    Issue.record(error)
                }
                ended.signal()
            }.start()
            let surroundings = APIHandler.Surroundings(
                now: { WallTime(milliseconds: 1_764_000_000_000) }, requestID: { "req_1" }, chance: { 0 })
            var entry = KeyEntry(key, scopes: [.writeEvents])
            change(&entry)
            let events = EventEndpoints(configuration, played.writer, batches, surroundings)
            handler = APIHandler(Router(events.all), KeyRing([entry]), .live, rate: 100_000, surroundings)
            while !batches.isOpen { sched_yield() }
        }

        func post(_ body: String, _ type: String = EventBody.bare, _ headers: [(String, String)] = []) -> HTTPResponse {
            let all = [("authorization", "Bearer " + key.text), ("content-type", type)] + headers
            var request = IncomingRequest(
                method: "POST", target: "/v1/events", headers: all.map { .init($0.0, $0.1) })
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

        func end() {
            batches.close()
            ended.wait()
            played.end()
        }
    }

    private func written() throws -> [ConsumerRecord] {
        var records: [ConsumerRecord] = []
        try TopicReader.readAll(
            Self.topic, settings: ["bootstrap.servers": cluster.bootstrapServers], logger: { _ in },
            take: { record, _ in records.append(record) })
        return records
    }

    private func envelope(_ id: String, order: String = #"{"id":"4711","place_id":"42"}"#) -> String {
        #"{"specversion":"1.0","id":"\#(id)","source":"shop","type":"ORDER_CREATED","data":{"order":\#(order)}}"#
    }

    @Test("an event in each form is recorded under its order's id, and the answer says where")
    func forms() throws {
        let process = try Process(cluster, key)
        let binary = process.post(
            #"{"order":{"id":"4711","place_id":"42"}}"#, EventBody.bare,
            [("ce-specversion", "1.0"), ("ce-id", "1"), ("ce-source", "shop"), ("ce-type", "ORDER_CREATED")])
        let structured = process.post(envelope("2"), EventBody.structured)
        let bare = process.post(Self.good)
        let partition = Murmur2.partition(of: Array("4711".utf8), count: 3)
        for (number, answer) in [binary, structured, bare].enumerated() {
            #expect(answer.status == .accepted)
            #expect(answer.body == #"{"positions":["orders.events/\#(partition)/\#(number)"]}"#, "\(answer.body)")
        }
        // One that changes nothing, and one of several orders.
        let same =
            #"{"event_type":"ORDER_STATUS_CHANGED","new_status":"a","previous_status":"a","order":{"id":"7","place_id":"42"}}"#
        #expect(process.post(same).status == .accepted)
        process.end()
        let records = try written()
        #expect(
            records.map { $0.key.map { String(decoding: $0, as: UTF8.self) } }.sorted { $0 ?? "" < $1 ?? "" } == [
                "4711", "4711", "4711", "7",
            ])
        #expect(records.allSatisfy { $0.headers.contains(RecordHeader("by", Array("key:\(key.id)".utf8))) })
        #expect(records.contains { $0.headers.contains(RecordHeader("ce_type", Array("ORDER_CREATED".utf8))) })
    }

    @Test(
        "a batch is recorded in whole; one with bad events says what is wrong with each, and nothing of it is recorded")
    func batch() throws {
        let process = try Process(cluster, key)
        let bad =
            "[\(envelope("1")),\(envelope("2", order: "7")),\(envelope("3").replacing("ORDER_CREATED", with: "NO"))]"
        let refused = process.post(bad, EventBody.batch)
        #expect(refused.status == .unprocessableContent && refused.body.contains("2 of 3 events cannot be used"))
        #expect(refused.body.contains(#""pointer":"/1"#) && refused.body.contains(#""pointer":"/2"#), "\(refused.body)")
        #expect(refused.body.contains("unknown_type"))
        let all = process.post("[" + (0..<200).map { _ in "{}" }.joined(separator: ",") + "]", EventBody.batch)
        #expect(all.body.contains("200 of 200") && all.body.split(separator: "pointer").count == Problem.mostFaults + 1)
        let other = #"{"id":"8","place_id":"42"}"#
        let taken = process.post("[\(envelope("1")),\(envelope("2", order: other))]", EventBody.batch)
        #expect(taken.status == .accepted, "\(taken.body)")
        let places = ["4711", "8"].map { Murmur2.partition(of: Array($0.utf8), count: 3) }
        #expect(taken.body.hasPrefix(#"{"positions":["orders.events/\#(places[0])/0","orders.events/\#(places[1])/"#))
        process.end()
        #expect(try written().count == 2)
    }

    @Test(
        "what the pipeline would make a dead letter is refused with its sentence",
        arguments: [
            ("{}", "unknown_type"), (good.replacing("CREATED", with: "BORN"), "unknown_type"),
            (good.replacing("\"42\"", with: "null"), "bad_request"),
            (good.replacing("{\"id", with: "[{\"id"), "not-json"),
        ])
    func refused(body: String, code: String) throws {
        let process = try Process(cluster, key)
        let answer = process.post(body)
        #expect(answer.body.contains("\"code\":\"\(code)\""), "\(answer.body)")
        process.end()
        #expect(try written().isEmpty)
    }

    @Test("everything that an event lacks is named, the reason of its dead letter first")
    func lacking() throws {
        func codes(_ process: Process, _ order: String) -> [String] {
            let body = process.post(#"{"event_type":"ORDER_STATUS_CHANGED","order":\#(order)}"#).body
            let errors = body.split(separator: #""errors":"#).last ?? ""
            return errors.split(separator: #""code":""#).dropFirst().map { String($0.prefix { $0 != "\"" }) }
        }
        let strict = try Process(cluster, key, onMissingOrderID: .deadLetter)
        #expect(codes(strict, "{}") == ["no_place", "missing_status", "missing_order_id"])
        #expect(codes(strict, #"{"place_id":"42"}"#) == ["missing_status", "missing_order_id"])
        #expect(codes(strict, #"{"place_id":"42","status":"done"}"#) == ["missing_order_id"])
        strict.end()
        let process = try Process(cluster, key)
        #expect(codes(process, "{}") == ["no_place", "missing_status"])
        #expect(codes(process, #"{"status":"done"}"#) == ["no_place"])
        #expect(codes(process, #"{"place_id":"42"}"#) == ["missing_status"])
        process.end()
        #expect(try written().isEmpty)
    }

    @Test("a key for some audiences or apps writes no events: whom they reach the settings say")
    func limits() throws {
        for (change, code) in [
            ({ $0.audiences = ["place/*"] }, "audience-not-allowed"), ({ $0.apps = ["a"] }, "app-not-allowed"),
        ] as [((inout KeyEntry) -> Void, String)] {
            let process = try Process(cluster, key, change)
            #expect(process.post(Self.good).body.contains(code))
            process.end()
        }
    }
}
