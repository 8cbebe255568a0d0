import HTTPServer
import KafkaClient
import Notifications
import Pipeline
import Replay
import Synchronization

/// Requests for notifications: sends one, or says what it would be, and says what became of it (docs/rules.md §8).
package final class RequestEndpoints: Sendable {
    private let configuration: PipelineConfiguration
    private let topic: String
    private let wait: Duration
    private let writer: RecordWriter
    private let index: RequestIndex
    private let reads: TopicReads
    private let isReady: @Sendable () -> Bool
    private let surroundings: APIHandler.Surroundings
    private let logger: Logger
    private let check: Mutex<RequestCheck>

    /// - Parameter isReady: whether the index has what was written before.
    package init(
        _ configuration: PipelineConfiguration, _ writer: RecordWriter, _ index: RequestIndex, _ reads: TopicReads,
        isReady: @escaping @Sendable () -> Bool, _ surroundings: APIHandler.Surroundings, logger: Logger
    ) throws(SubscriptionTableError) {
        self.configuration = configuration
        (topic, wait) = (configuration.topics.requests, configuration.api.wait)
        (self.writer, self.index, self.reads) = (writer, index, reads)
        (self.isReady, self.surroundings, self.logger) = (isReady, surroundings, logger)
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
        let isDryRun = try Self.isDryRun(call)
        let after = try call.after
        guard isDryRun || isReady() else { throw Self.starting }
        let now = surroundings.now()
        let (body, accepted) = try check.withLock { check throws(Problem) in
            try check.read(call.request.body, name: name, newID: surroundings.requestID, now: now)
        }
        try permit(accepted.audiences, call.key)
        if isDryRun { return try tell(call, whatWouldBe: body, accepted, now: now) }
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
            case .new: self.write(body, accepted, call, after: after)
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

    private func write(_ body: RequestBody, _ accepted: RequestTrial.Verdict, _ call: Call, after: Int64?) {
        let now = surroundings.now()
        let waits = after.map { [RecordHeader(AfterHeader.name, Array("\($0)".utf8))] } ?? []
        let record = ProducerRecord(
            key: accepted.audiences.first.map { Array($0.utf8) }, value: body.value,
            headers: call.recordHeaders + waits, timestamp: now)
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
        try key.permitApps(of: configuration.requests.apps)
    }

    private static let starting = Problem(.starting, "the requests of the last day are still being read")

    // MARK: Looking

    private static func isDryRun(_ call: Call) throws(Problem) -> Bool {
        guard let text = call.value("dry_run") else { return false }
        guard text == "1" else { throw Problem(.badPath, "dry_run is not 1; allowed is dry_run=1, or none") }
        return true
    }

    private func tell(
        _ call: Call, whatWouldBe body: RequestBody, _ accepted: RequestTrial.Verdict, now: WallTime
    ) throws(Problem) -> Endpoint.Reply {
        let ids: [(name: String, value: Document)] = [
            ("request_id", .text(body.id)), ("message_id", .text(accepted.messageID)),
        ]
        let (value, audiences, configuration, logger) = (body.value, accepted.audiences, configuration, logger)
        return try reads.reply(to: call) { turn in
            let run = try RequestDryRun(value, audiences, configuration, now: now, turn, logger: logger)
            return call.response(.ok, .object(ids + run.members))
        }
    }

    private func tell(_ call: Call) throws(Problem) -> Endpoint.Reply {
        if let record = call.value("record") { return try tell(call, ofRecord: record) }
        guard let metadata = index.find(call.pathValues[0], for: call.key) else {
            guard isReady() else { throw Self.starting }
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

    /// - Parameter text: the partition and the offset.
    private func tell(_ call: Call, ofRecord text: String) throws(Problem) -> Endpoint.Reply {
        guard let match = text.wholeMatch(of: #/([0-9]+)-([0-9]+)/#), let partition = Int32(match.1),
            let offset = Int64(match.2), offset < .max
        else {
            throw Problem(.badPath, "record is no position; allowed are its partition and its offset, such as 3-4711")
        }
        let (id, now, configuration, logger) = (call.pathValues[0], surroundings.now(), configuration, logger)
        return try reads.reply(to: call) { turn in
            let record = Coordinates(partition: partition, offset: offset)
            let context = try ReplayContext(configuration, turn, now: now, logger: logger)
            guard let fate = try context.fate(ofRequest: id, at: record, for: call.key) else {
                throw Problem(.notFound, "the record is no request with this id")
            }
            let place: [(name: String, value: Document)] = [
                ("request_id", .text(id)), ("record", .text("\(record.position(in: configuration.topics.requests))")),
                ("recorded_at", .text(fate.time.iso8601)),
            ]
            return call.response(.ok, .object(place + fate.members))
        }
    }
}

extension RequestFate {
    /// Of the answer, beside where the request is.
    fileprivate var members: [(name: String, value: Document)] {
        switch state {
        case .recorded: return [("status", "recorded")]
        case .suppressed: return [("status", "suppressed")]
        case .sent(let devices, let outcomes):
            let counts = outcomes?.sorted { $0.key.rawValue < $1.key.rawValue }
                .map { (name: $0.key.rawValue, value: Document.integer(Int64($0.value))) }
            return [("status", "sent"), ("devices", .integer(Int64(devices)))]
                + (counts.map { [("outcomes", .object($0))] } ?? [])
        case .deadLetter(let code, let message, let position):
            let letter: Document = ["code": .text(code), "detail": .text(message), "record": .text("\(position)")]
            return [("status", "dead_letter"), ("dead_letter", letter)]
        }
    }
}

extension KeyEntry {
    /// A request reaches the devices of every app that `requests.apps` has.
    func permitApps(of requestApps: [String]) throws(Problem) {
        guard !apps.isEmpty, requestApps.isEmpty || !requestApps.allSatisfy(permits(app:)) else { return }
        throw Problem(
            .appNotAllowed,
            "the key may only reach \(apps.joined(separator: ", ")), and a request reaches "
                + (requestApps.isEmpty ? "every app" : requestApps.joined(separator: ", ")))
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
    private static let dryRun = APIOperation.Parameter(
        "dry_run", "Say what each provider would get and how many devices, and write nothing.",
        ["type": "string", "enum": ["1"]])
    private static let after = APIOperation.Parameter(
        "Carillon-After",
        "What Carillon-Position was in an answer about a device or a person: the request is sent once the pipeline knows "
            + "the subscriptions that follow from it.", ["type": "string", "pattern": "^[0-9]{1,18}$"])
    private static let sent = [
        APIOperation.Response(.accepted, "Recorded in Kafka", recorded),
        APIOperation.Response(
            .ok, "Recorded before, with the same content; with dry_run what it would be",
            ["oneOf": [recorded, ["$ref": "#/components/schemas/DryRun"]]]),
    ]
    private static let sendProblems: [ProblemCode] = [
        .conflictingValue, .unknownType, .payloadTooLarge, .audienceNotAllowed, .appNotAllowed, .notRecorded,
        .outcomeUnknown, .starting, .notYet, .incomplete,
    ]

    static let put = APIOperation(
        "putRequest", .put, "/v1/requests/{request_id}", "Send a notification. Repeated, it is sent once.",
        scopes: [.send], pathParameters: [id], query: [dryRun], headers: [after], body: APIOperation.Body(reference),
        responses: sent, problems: sendProblems + [.otherContent])

    static let post = APIOperation(
        "postRequest", .post, "/v1/requests",
        "Send a notification. Its id is request_id, else the header Idempotency-Key, else a new one.", scopes: [.send],
        query: [dryRun],
        headers: [
            APIOperation.Parameter(
                "Idempotency-Key", "The id of the request: \(IdempotencyKey.allowed).", ["type": "string"]),
            after,
        ], body: APIOperation.Body(reference),
        responses: sent, problems: sendProblems + [.otherContent, .keyReused])

    static let get = APIOperation(
        "getRequest", .get, "/v1/requests/{request_id}",
        "Where a request of the last day is; with record what became of one of any day.",
        scopes: [.send, .readTraces], pathParameters: [id],
        query: [
            APIOperation.Parameter(
                "record", "The partition and the offset of its record, as the answer to its PUT has them: 3-4711.",
                ["type": "string", "pattern": "^[0-9]+-[0-9]+$", "maxLength": 31])
        ],
        responses: [APIOperation.Response(.ok, "It was recorded", ["$ref": "#/components/schemas/RequestStatus"])],
        problems: [.starting, .incomplete, .notYet])

    static let operations = [put, get, post]
}
