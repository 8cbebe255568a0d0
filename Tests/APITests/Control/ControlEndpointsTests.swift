import Digests
import Foundation
import HTTPServer
import KafkaClient
import Notifications
import Pipeline
import Replay
import Testing
import Time

@testable import API

@Suite("API: cancel and pause", .timeLimit(.minutes(30))) struct ControlEndpointsTests {
    private static let topic = "notifications.control"
    private static let now = WallTime(milliseconds: 1_764_000_000_000)

    private let cluster: MockCluster
    private let key = APIKey(.live)
    private let index = RequestIndex()

    init() throws {
        cluster = try MockCluster()
        try cluster.createTopic(Self.topic, partitions: 1)
    }

    /// The API of a process, with its writer.
    private final class Process {
        let played: PlayedWriter?
        private let handler: APIHandler
        private let key: APIKey

        /// - Parameter cluster: nil: nobody writes.
        init(
            _ cluster: MockCluster?, _ key: APIKey, _ entry: KeyEntry, _ index: RequestIndex, topic: String = topic,
            isReady: Bool = true, view: ControlView = ControlView()
        ) throws {
            played = try cluster.map { try PlayedWriter($0, topic: ControlEndpointsTests.topic) }
            self.key = key
            let kafka: Settings = cluster.map { ["bootstrap.servers": $0.bootstrapServers] } ?? [:]
            var configuration = PipelineConfiguration(kafka: kafka, stateDirectory: "", rules: try ExtractionRules())
            (configuration.topics.control, configuration.topics.requests) = (topic, "notifications.requests")
            let surroundings = APIHandler.Surroundings(now: { now }, requestID: { "req_1" }, chance: { 0 })
            let logger = Logger(label: "test")
            let endpoints = ControlEndpoints(
                configuration, played?.writer ?? RecordWriter(), index, TopicReads(logger: logger), view: { view },
                isReady: { isReady }, surroundings, logger: logger)
            handler = APIHandler(Router(endpoints.all), KeyRing([entry]), .live, rate: 100_000, surroundings)
        }

        func ask(_ method: String, _ target: String, _ body: String = "") -> HTTPResponse {
            var request = IncomingRequest(
                method: method, target: target,
                headers: [("authorization", "Bearer " + key.text), ("content-type", "application/json")].map {
                    .init($0.0, $0.1)
                })
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
    }

    private func make(_ scopes: [APIScope] = [.send, .operate], _ change: (inout KeyEntry) -> Void = { _ in }) throws
        -> Process
    {
        var entry = KeyEntry(key, scopes: scopes)
        change(&entry)
        return try Process(cluster, key, entry, index)
    }

    /// Keys and values of all records.
    private func written() throws -> [(key: String, value: [UInt8]?)] {
        var records: [(key: String, value: [UInt8]?)] = []
        try TopicReader.readAll(
            Self.topic, settings: ["bootstrap.servers": cluster.bootstrapServers], logger: { _ in },
            take: { record, _ in records.append((String(decoding: record.key ?? [], as: UTF8.self), record.value)) })
        return records
    }

    @Test("a cancel is recorded by the header of the id, also of a request that is not known, and says where it is")
    func cancel() throws {
        let process = try make()
        let long = String(repeating: "x", count: 300)
        let first = process.ask("DELETE", "/v1/requests/bill%2F1")
        #expect(first.status == .accepted)
        #expect(
            first.body
                == #"{"request_id":"bill/1","status":"cancelled","record":"notifications.control/0/0","recorded_at":"2025-11-24T16:00:00.000Z"}"#,
            "\(first.body)")
        #expect(process.ask("DELETE", "/v1/requests/\(long)").status == .accepted)
        #expect(process.ask("DELETE", "/v1/requests/%20").status == .badRequest)
        process.played?.end()
        let records = try written()
        #expect(records.map(\.key) == ["cancel/bill/1", "cancel/\(RequestID.header(of: long) ?? "")"])
        #expect(records[0].value == ControlEntry(why: "", by: "key:\(key.id)", at: Self.now).json)
    }

    /// Of a topic in which a request was cancelled so long ago.
    private func view(cancelled id: String, before time: Int64, isFresh: Bool = true) -> ControlView {
        var fold = ControlFold()
        let value = ControlEntry(why: "", by: "", at: Self.now).json
        fold.take(key: Array(ControlKey.cancel(id).text.utf8), value: value, at: Self.now - time)
        var view = fold.view
        view.freshSince = .now - (isFresh ? .zero : .seconds(60))
        return view
    }

    /// A process that knows a request, so old, and what the topic says.
    private func make(_ view: ControlView, ofRequest age: Int64 = 3_600_000) throws -> Process {
        let (index, time) = (RequestIndex(), Self.now - age)
        let hash = StoredHash(of: UnsafeRawBufferPointer(start: nil, count: 0))
        index.take("r", hash, for: ["user/1"], .init(partition: 0, offset: 0, time: time), at: Self.now)
        return try Process(cluster, key, KeyEntry(key, scopes: [.send]), index, view: view)
    }

    @Test(
        "a repeated cancel writes nothing: it is 202 until no more is sent and that is counted, which decides nothing")
    func again() throws {
        for (id, age) in [("r", ControlView.soon - 1), ("r", ControlView.soon), ("unknown", ControlView.soon)] {
            let process = try make(view(cancelled: id, before: age))
            // There is no topic of requests: whom it has reached cannot be read.
            let answer = process.ask("DELETE", "/v1/requests/\(id)")
            let at = (Self.now - age).iso8601
            #expect(answer.status == .accepted)
            #expect(answer.body == #"{"request_id":"\#(id)","status":"cancelled","recorded_at":"\#(at)"}"#)
            process.played?.end()
        }
        #expect(try written().isEmpty)
    }

    @Test("a cancel is written again where the view is old, or the cancel is: before the request, by a day, or over")
    func renewed() throws {
        let minute: Int64 = 60_000
        for (number, process) in [
            try make(view(cancelled: "r", before: minute, isFresh: false)),
            try make(view(cancelled: "r", before: minute), ofRequest: minute / 2),
            try make(view(cancelled: "r", before: 86_400_000), ofRequest: 2 * 86_400_000),
            try make(view(cancelled: "r", before: ControlView.longest), ofRequest: 2 * ControlView.longest),
        ].enumerated() {
            let answer = process.ask("DELETE", "/v1/requests/r")
            let record = #""record":"notifications.control/0/\#(number)""#
            #expect(answer.body.contains(record), "\(number): \(answer.body)")
            process.played?.end()
        }
    }

    @Test("how many of a cancelled request's pushes have ended so, and how many the provider had taken")
    func counts() {
        func counts(_ state: RequestFate.State) -> String? { state.counts.map { Document.object($0).json } }
        #expect(counts(.recorded) == nil)
        #expect(counts(.suppressed) == #"{"devices":0,"cancelled":0,"already_sent":0}"#)
        #expect(
            counts(.deadLetter(code: "bad_request", message: "", at: RecordPosition("t", 0, 0)))
                == #"{"devices":0,"cancelled":0,"already_sent":0}"#)
        #expect(
            counts(.sent(devices: 7, outcomes: [.accepted: 2, .cancelled: 3, .expired: 1]))
                == #"{"devices":7,"cancelled":3,"already_sent":2}"#)
        #expect(counts(.sent(devices: 7, outcomes: nil)) == #"{"devices":7}"#)
    }

    @Test("a key for some audiences cancels only a known request that is for no others, else it is 404")
    func limited() throws {
        let hash = StoredHash(of: UnsafeRawBufferPointer(start: nil, count: 0))
        for (number, audiences) in [["place/1"], ["place/1", "user/2"]].enumerated() {
            index.take(
                "r\(number)", hash, for: audiences, .init(partition: 0, offset: Int64(number), time: Self.now),
                at: Self.now)
        }
        let process = try make { $0.audiences = ["place/*"] }
        #expect(process.ask("DELETE", "/v1/requests/r0").status == .accepted)
        for id in ["r1", "r2"] {
            let refused = process.ask("DELETE", "/v1/requests/\(id)")
            #expect(refused.status == .notFound && refused.body.contains("not-found"))
        }
        var entry = KeyEntry(key, scopes: [.send])
        entry.audiences = ["place/*"]
        let starting = try Process(nil, key, entry, index, isReady: false)
        #expect(starting.ask("DELETE", "/v1/requests/r2").body.contains("starting"))
        entry.apps = ["com.example.shop"]
        let ofApp = try Process(nil, key, entry, index)
        #expect(ofApp.ask("DELETE", "/v1/requests/r0").body.contains("app-not-allowed"))
        process.played?.end()
        #expect(try written().map(\.key) == ["cancel/r0"])
    }

    @Test("a provider and a credential are paused with a reason and resumed, by a key that may operate")
    func pause() throws {
        let process = try make([.operate])
        let why = #"{"why":"wrong texts"}"#
        let paused = process.ask("PUT", "/v1/providers/fcm/pause", why)
        #expect(paused.status == .accepted && paused.body.hasPrefix(#"{"provider":"fcm","status":"paused","#))
        let credential = process.ask("PUT", "/v1/providers/apns/credentials/staff/pause", why)
        #expect(credential.body.hasPrefix(#"{"provider":"apns","credential":"staff","status":"paused","#))
        #expect(process.ask("DELETE", "/v1/providers/fcm/pause").body.contains(#""status":"resumed""#))
        for (target, body, status) in [
            ("/v1/providers/sms/pause", why, .notFound), ("/v1/providers/fcm/credentials/a%20b/pause", why, .notFound),
            ("/v1/providers/fcm/pause", "{}", .unprocessableContent),
            ("/v1/providers/fcm/pause", #"{"why":""}"#, .unprocessableContent),
            ("/v1/providers/fcm/pause", #"{"why":7}"#, .unprocessableContent),
            ("/v1/providers/fcm/pause", "why", .badRequest),
        ] as [(String, String, HTTPResponse.Status)] {
            #expect(process.ask("PUT", target, body).status == status, "\(target) \(body)")
        }
        #expect(process.ask("DELETE", "/v1/requests/r").status == .forbidden)
        process.played?.end()
        let records = try written()
        #expect(records.map(\.key) == ["pause/fcm", "pause/apns/staff", "pause/fcm"])
        #expect(records[0].value == ControlEntry(why: "wrong texts", by: "key:\(key.id)", at: Self.now).json)
        #expect(records[2].value == nil)
    }

    @Test("a key for some audiences or apps pauses nothing and resumes nothing: that holds for all of them")
    func limitedOperator() throws {
        for (change, code) in [
            ({ $0.audiences = ["place/*"] }, "audience-not-allowed"), ({ $0.apps = ["a"] }, "app-not-allowed"),
        ] as [((inout KeyEntry) -> Void, String)] {
            let process = try make([.operate], change)
            for target in ["/v1/providers/fcm/pause", "/v1/providers/fcm/credentials/shop/pause"] {
                #expect(process.ask("PUT", target, #"{"why":"x"}"#).body.contains(code))
                #expect(process.ask("DELETE", target).body.contains(code))
            }
            process.played?.end()
        }
        #expect(try written().isEmpty)
    }

    @Test(
        "without topic.control it is 404 with a sentence; where nobody writes it is certain that nothing was recorded")
    func unwritten() throws {
        let entry = KeyEntry(key, scopes: [.send, .operate])
        let without = try Process(nil, key, entry, index, topic: "")
        for (method, target) in [("DELETE", "/v1/requests/r"), ("DELETE", "/v1/providers/fcm/pause")] {
            let answer = without.ask(method, target)
            #expect(answer.status == .notFound && answer.body.contains("topic.control is not set"))
        }
        let closed = try Process(nil, key, entry, index)
        let answer = closed.ask("DELETE", "/v1/requests/r")
        #expect(answer.status == .serviceUnavailable && answer.body.contains("not-recorded"))
    }
}
