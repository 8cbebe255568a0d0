import HTTPServer
import KafkaClient
import Pipeline
import Synchronization

/// Requests for notifications: sends one, and says where it is (docs/rules.md §8).
package final class RequestEndpoints: Sendable {
    private let topic: String
    private let requestApps: [String]
    private let wait: Duration
    private let writer: RecordWriter
    private let index: RequestIndex
    private let isReady: @Sendable () -> Bool
    private let surroundings: APIHandler.Surroundings
    private let check: Mutex<RequestCheck>

    /// - Parameter isReady: whether the index has what was written before.
    package init(
        _ configuration: PipelineConfiguration, _ writer: RecordWriter, _ index: RequestIndex,
        isReady: @escaping @Sendable () -> Bool, _ surroundings: APIHandler.Surroundings
    ) throws(SubscriptionTableError) {
        topic = configuration.topics.requests
        requestApps = configuration.requests.apps
        wait = configuration.api.wait
        (self.writer, self.index, self.isReady, self.surroundings) = (writer, index, isReady, surroundings)
        check = Mutex(try RequestCheck(configuration))
    }

    package var all: [Endpoint] {
        [
            Endpoint(Self.put) { call throws(Problem) in
                try self.send(call, name: call.pathValues[0], otherContent: .otherContent, isNamed: true)
            },
            Endpoint(Self.get) { call throws(Problem) in try self.tell(call) },
            Endpoint(Self.post) { call throws(Problem) in
                let header = call.request.headers.first { $0.name == "idempotency-key" }?.value
                let key = header.map(IdempotencyKey.read)
                if key == .some(nil) {
                    throw Problem(.badHeader, "Idempotency-Key is not one; allowed are \(IdempotencyKey.allowed)")
                }
                let name = key ?? nil
                return try self.send(call, name: name, otherContent: name == nil ? .otherContent : .keyReused)
            },
        ]
    }

    // MARK: Sending

    /// - Parameter otherContent: the problem of an id that has another content.
    private func send(
        _ call: Call, name: String?, otherContent: ProblemCode, isNamed: Bool = false
    ) throws(Problem) -> Endpoint.Reply {
        guard isReady() else { throw Problem(.starting, "the requests of the last day are still being read") }
        let now = surroundings.now()
        let (body, accepted) = try check.withLock { check throws(Problem) in
            try check.read(call.request.body, name: name, newID: surroundings.requestID, now: now)
        }
        try permit(accepted.audiences, call.key)
        var answer = Answer(call: call, topic: topic, body.id, accepted.messageID)
        if !isNamed { answer.headers.append(("Location", "/v1/requests/\(RequestTarget.encoded(body.id))")) }
        if body.isNew {
            answer.headers.append(("Carillon-Warning", "the request had no id: sent again, it is another one"))
        }
        let told = answer
        let reply: @Sendable (@escaping @Sendable (HTTPResponse) -> Void) -> Void = { respond in
            switch self.index.claim(
                body.id, body.content, for: accepted.audiences, { respond(told.response(to: $0)) })
            {
            case .new: self.write(body, accepted, call)
            case .underWay: break
            case .recorded(let metadata): respond(told.response(.ok, metadata, [("Idempotency-Replayed", "true")]))
            case .other:
                respond(
                    call.response(to: Problem(otherContent, "the id \(body.id) has a request with another content")))
            }
        }
        return .later(
            // The server looks twice a second for those that have waited too long.
            within: wait - .milliseconds(500), otherwise: Answer.unknown, begin: reply)
    }

    private func write(_ body: RequestBody, _ accepted: RequestTrial.Verdict, _ call: Call) {
        let now = surroundings.now()
        let record = ProducerRecord(
            key: accepted.audiences.first.map { Array($0.utf8) }, value: body.value, headers: call.recordHeaders,
            timestamp: now)
        let isTaken = writer.give(
            RecordWriter.Entry(topic: topic, record: record) { outcome in
                let settled: RequestIndex.Outcome =
                    switch outcome {
                    case .written(let partition, let offset):
                        .recorded(RequestIndex.RecordMetadata(partition: partition, offset: offset, time: now))
                    case .notWritten: .notRecorded
                    case .unknown: .unknown
                    }
                self.index.settle(body.id, settled, at: now)
            })
        if !isTaken { index.settle(body.id, .notRecorded, at: now) }
    }

    /// Whether the key may reach the audiences, and the apps of their devices.
    private func permit(_ audiences: [String], _ key: KeyEntry?) throws(Problem) {
        guard let key else { return }
        let refused = audiences.filter { !key.permits(audience: $0) }
        if !refused.isEmpty {
            let names = refused.prefix(10).joined(separator: ", ")
            throw Problem(
                .audienceNotAllowed,
                "the key may not reach \(names); allowed are \(key.audiences.joined(separator: ", "))")
        }
        // A request reaches the devices of every app that requests.apps has.
        if !key.apps.isEmpty, requestApps.isEmpty || !requestApps.allSatisfy(key.permits(app:)) {
            throw Problem(
                .appNotAllowed,
                "the key may only reach \(key.apps.joined(separator: ", ")), and a request reaches "
                    + (requestApps.isEmpty ? "every app" : requestApps.joined(separator: ", ")))
        }
    }

    // MARK: Looking

    private func tell(_ call: Call) throws(Problem) -> Endpoint.Reply {
        guard let metadata = index.find(call.pathValues[0], for: call.key) else {
            guard isReady() else { throw Problem(.starting, "the requests of the last day are still being read") }
            throw Problem(.notFound, "no request with this id was recorded in the last day")
        }
        return .now(
            call.response(
                .ok,
                [
                    "request_id": .text(call.pathValues[0]), "status": "recorded",
                    "record": .text("\(RecordPosition(topic, metadata.partition, metadata.offset))"),
                    "recorded_at": .text(metadata.time.iso8601),
                ]))
    }
}

/// What a client hears of a request that it has sent.
private struct Answer {
    let call: Call
    let topic: String
    let id: String
    let messageID: String
    var headers: [(name: String, value: String)] = []

    init(call: Call, topic: String, _ id: String, _ messageID: String) {
        (self.call, self.topic, self.id, self.messageID) = (call, topic, id, messageID)
    }

    static var unknown: Problem {
        Problem(.outcomeUnknown, "Kafka has not answered in time: the request may have been recorded")
    }

    func response(to outcome: RequestIndex.Outcome) -> HTTPResponse {
        switch outcome {
        case .recorded(let metadata): response(.accepted, metadata)
        case .notRecorded:
            call.response(to: Problem(.notRecorded, "Kafka does not take the request now: it was not recorded"))
        case .unknown: call.response(to: Self.unknown)
        }
    }

    func response(
        _ status: HTTPResponse.Status, _ metadata: RequestIndex.RecordMetadata,
        _ more: [(name: String, value: String)] = []
    ) -> HTTPResponse {
        call.response(
            status,
            [
                "request_id": .text(id), "message_id": .text(messageID),
                "record": .text("\(RecordPosition(topic, metadata.partition, metadata.offset))"),
                "recorded_at": .text(metadata.time.iso8601),
            ], headers + more)
    }
}

extension RequestEndpoints {
    private static let id = APIOperation.Parameter(
        "request_id", "The id of the request, by which it may be repeated.",
        ["type": "string", "minLength": 1, "maxLength": 255])
    private static let reference: Document = ["$ref": "#/components/schemas/Request"]
    private static let recorded: Document = ["$ref": "#/components/schemas/Recorded"]
    private static let sendProblems: [ProblemCode] = [
        .conflictingValue, .unknownType, .payloadTooLarge, .audienceNotAllowed, .appNotAllowed, .notRecorded,
        .outcomeUnknown, .starting,
    ]

    static let put = APIOperation(
        "putRequest", .put, "/v1/requests/{request_id}", "Send a notification. Repeated, it is sent once.",
        scopes: [.send], pathParameters: [id], body: APIOperation.Body(reference),
        responses: [
            APIOperation.Response(.accepted, "Recorded in Kafka", recorded),
            APIOperation.Response(.ok, "Recorded before, with the same content", recorded),
        ], problems: sendProblems + [.otherContent])

    static let post = APIOperation(
        "postRequest", .post, "/v1/requests",
        "Send a notification. Its id is request_id, else the header Idempotency-Key, else a new one.", scopes: [.send],
        body: APIOperation.Body(reference),
        responses: [
            APIOperation.Response(.accepted, "Recorded in Kafka", recorded),
            APIOperation.Response(.ok, "Recorded before, with the same content", recorded),
        ], problems: sendProblems + [.otherContent, .keyReused])

    static let get = APIOperation(
        "getRequest", .get, "/v1/requests/{request_id}", "Where a request of the last day is.",
        scopes: [.send, .readTraces], pathParameters: [id],
        responses: [APIOperation.Response(.ok, "It was recorded", ["$ref": "#/components/schemas/RequestStatus"])],
        problems: [.starting])

    static let operations = [put, get, post]
}
