import HTTPServer
import JSONReader
import KafkaClient
import Notifications
import Pipeline
import Replay
import Synchronization

/// Cancels requests, and pauses providers and credentials: writes to `topic.control` (docs/rules.md §13).
package final class ControlEndpoints: Sendable {
    /// An older view may not have what took a cancel back.
    private static let longestSight = Duration.seconds(10)
    /// A cancel that is older is written again, so that it holds for as long as one of now. In milliseconds.
    private static let renewal: Int64 = 86_400_000
    /// How long whom a cancelled request has reached is counted.
    private static let countTime = Duration.seconds(10)
    private static let uncounted = Problem(.notYet, "it is cancelled; whom it has reached was not read in time")

    private let configuration: PipelineConfiguration
    private let writer: RecordWriter
    private let index: RequestIndex
    private let reads: TopicReads
    private let view: @Sendable () -> ControlView
    private let isReady: @Sendable () -> Bool
    private let surroundings: APIHandler.Surroundings
    private let logger: Logger

    /// - Parameters:
    ///   - view: what the topic says.
    ///   - isReady: whether the index has what was written before.
    package init(
        _ configuration: PipelineConfiguration, _ writer: RecordWriter, _ index: RequestIndex, _ reads: TopicReads,
        view: @escaping @Sendable () -> ControlView, isReady: @escaping @Sendable () -> Bool,
        _ surroundings: APIHandler.Surroundings, logger: Logger
    ) {
        self.configuration = configuration
        (self.writer, self.index, self.reads, self.view) = (writer, index, reads, view)
        (self.isReady, self.surroundings, self.logger) = (isReady, surroundings, logger)
    }

    private var topic: String { configuration.topics.control }

    package var all: [Endpoint] {
        [
            Endpoint(Self.cancel) { call throws(Problem) in try self.cancel(call) },
            Endpoint(Self.pauseProvider) { call throws(Problem) in try self.pause(call) },
            Endpoint(Self.resumeProvider) { call throws(Problem) in try self.resume(call) },
            Endpoint(Self.pauseCredential) { call throws(Problem) in try self.pause(call) },
            Endpoint(Self.resumeCredential) { call throws(Problem) in try self.resume(call) },
        ]
    }

    /// A key that may not reach everybody cancels what it may reach: a request that is known, and is for nobody else.
    private func cancel(_ call: Call) throws(Problem) -> Endpoint.Reply {
        try refuseWithoutTopic()
        let id = call.pathValues[0]
        guard let header = RequestID.header(of: id) else {
            throw Problem(.badPath, "the id of the request is blank; allowed are \(RequestBody.allowedID)")
        }
        if let key = call.key { try key.permitApps(of: configuration.requests.apps) }
        let request = index.find(id, for: call.key)
        if call.key?.audiences.isEmpty == false, request == nil {
            guard isReady() else { throw Problem(.starting, "the requests of the last day are still being read") }
            throw Problem(.notFound, "no request with this id was recorded in the last day")
        }
        let members: [(name: String, value: Document)] = [("request_id", .text(id)), ("status", "cancelled")]
        let (now, view) = (surroundings.now(), view())
        guard view.isFresh(within: Self.longestSight), let since = view.cancelled.since(Hash128(header), at: now),
            now - since < Self.renewal, request.map({ $0.time <= since }) ?? true
        else { return write(.cancel(header), entry(call, why: ""), call, members) }
        let before = members + [("recorded_at", .text(since.iso8601))]
        let accepted = call.response(.accepted, .object(before))
        guard let request, now - since >= ControlView.soon else { return .now(accepted) }
        // It is cancelled, whether or not that can be counted.
        return .later(within: TopicReads.longest, otherwise: Self.uncounted) { respond in
            let isBegun = self.reads.begin(within: Self.countTime) { turn in
                let counts = self.reads.value(for: call) { try self.counts(of: request, id, call.key, turn, now: now) }
                respond((counts ?? nil).map { call.response(.ok, .object(before + $0)) } ?? accepted)
            }
            if !isBegun { respond(accepted) }
        }
    }

    /// Whom a request has reached; nil where that is not known.
    private func counts(
        of request: RequestIndex.RecordMetadata, _ id: String, _ key: KeyEntry?, _ turn: TopicReads.Turn, now: WallTime
    ) throws -> [(name: String, value: Document)]? {
        let record = Coordinates(partition: request.partition, offset: request.offset)
        return try ReplayContext(configuration, turn, now: now, logger: logger)
            .fate(ofRequest: id, at: record, for: key)?.state.counts
    }

    private func pause(_ call: Call) throws(Problem) -> Endpoint.Reply {
        try refuseWithoutTopic()
        try call.key?.permitEverybody("a pause holds for all of them")
        let target = try target(call)
        var reader = JSONReader()
        var faults: [Problem.Fault] = []
        let why = try JSONBody.read(call.request.body, &reader, &faults) { value throws(Problem) -> String in
            guard value.isObject, let why = value.member("why")?.string.map({ String($0) }), !why.isEmpty,
                why.utf8.count <= ControlEntry.mostText
            else {
                throw Problem(
                    .badRequest,
                    "why is missing or no text; allowed is an object with a text of 1 to \(ControlEntry.mostText) bytes"
                )
            }
            return why
        }
        if let problem = Problem(faults) { throw problem }
        return write(.pause(target), entry(call, why: why), call, Self.members(target, isPaused: true))
    }

    private func resume(_ call: Call) throws(Problem) -> Endpoint.Reply {
        try refuseWithoutTopic()
        try call.key?.permitEverybody("a pause holds for all of them")
        let target = try target(call)
        return write(.pause(target), nil, call, Self.members(target, isPaused: false))
    }

    private func refuseWithoutTopic() throws(Problem) {
        guard topic.isEmpty else { return }
        throw Problem(.notFound, "topic.control is not set, so no sender can be told to cancel or to pause")
    }

    /// What the path names.
    private func target(_ call: Call) throws(Problem) -> PauseTarget {
        guard let platform = Platform(rawValue: call.pathValues[0]) else {
            let known = Platform.allCases.map(\.rawValue).joined(separator: ", ")
            throw Problem(.notFound, "there is no such provider; allowed are \(known)")
        }
        guard call.pathValues.count > 1 else { return PauseTarget(platform) }
        let name = call.pathValues[1]
        guard name.utf8.count <= 255, name.wholeMatch(of: #/[A-Za-z0-9._-]+/#) != nil else {
            throw Problem(.notFound, "there is no such credential; allowed are letters, digits, ., _ and -")
        }
        return PauseTarget(platform, credential: name)
    }

    private static func members(_ target: PauseTarget, isPaused: Bool) -> [(name: String, value: Document)] {
        [("provider", .text(target.platform.rawValue))] + (target.credential.map { [("credential", .text($0))] } ?? [])
            + [("status", isPaused ? "paused" : "resumed")]
    }

    private func entry(_ call: Call, why: String) -> ControlEntry {
        ControlEntry(why: why, by: call.key.map { "key:\($0.id)" } ?? "", at: surroundings.now())
    }

    private func write(
        _ key: ControlKey, _ entry: ControlEntry?, _ call: Call, _ members: [(name: String, value: Document)]
    ) -> Endpoint.Reply {
        let now = surroundings.now()
        let record = ProducerRecord(
            key: Array(key.text.utf8), value: entry?.json, headers: call.recordHeaders, timestamp: now)
        let (topic, writer) = (topic, writer)
        return .later(within: configuration.api.wait - .milliseconds(500), otherwise: .outcomeUnknown) { respond in
            writer.write(record, to: topic, for: call, respond) { partition, offset in
                let place: [(name: String, value: Document)] = [
                    ("record", .text("\(RecordPosition(topic, partition, offset))")),
                    ("recorded_at", .text(now.iso8601)),
                ]
                respond(call.response(.accepted, .object(members + place)))
            }
        }
    }
}

extension RequestFate.State {
    /// How many devices a cancelled request was written for, and what became of its pushes; nil before the pipeline has come to it.
    var counts: [(name: String, value: Document)]? {
        switch self {
        case .recorded: return nil
        case .suppressed, .deadLetter: return [("devices", 0), ("cancelled", 0), ("already_sent", 0)]
        case .sent(let devices, let outcomes):
            let devices = (name: "devices", value: Document.integer(Int64(devices)))
            guard let outcomes else { return [devices] }
            return [
                devices, ("cancelled", .integer(Int64(outcomes[.cancelled] ?? 0))),
                ("already_sent", .integer(Int64(outcomes[.accepted] ?? 0))),
            ]
        }
    }
}

extension ControlEndpoints {
    private static let requestID = APIOperation.Parameter(
        "request_id", "The id of the request.", ["type": "string", "minLength": 1])
    private static let provider = APIOperation.Parameter(
        "provider", "The provider.", ["enum": .list(Platform.allCases.map { .text($0.rawValue) })])
    private static let credential = APIOperation.Parameter(
        "credential", "The name of one of its credentials.",
        ["type": "string", "pattern": "^[A-Za-z0-9._-]+$", "maxLength": 255])
    private static let why = APIOperation.Body(
        [
            "type": "object", "required": ["why"],
            "properties": [
                "why": [
                    "type": "string", "minLength": 1, "maxLength": 1024,
                    "description": "For whoever finds it paused: in logs, and in carillon deliver paused.",
                ]
            ],
        ])
    private static let problems: [ProblemCode] = [.notRecorded, .outcomeUnknown]
    private static let problemsOfPauses = problems + [.audienceNotAllowed, .appNotAllowed]
    private static let paused = [
        APIOperation.Response(
            .accepted, "Recorded in Kafka: each sender has seen it within a second",
            ["$ref": "#/components/schemas/Pause"])
    ]

    static let cancel = APIOperation(
        "cancelRequest", .delete, "/v1/requests/{request_id}",
        "Send no more pushes of a request, also of one that comes later.", scopes: [.send],
        pathParameters: [requestID],
        responses: [
            APIOperation.Response(
                .accepted, "Recorded in Kafka: each sender has seen it within a second",
                ["$ref": "#/components/schemas/Cancelled"]),
            APIOperation.Response(
                .ok, "Recorded so long before that no more of it is sent: whom it has reached",
                ["$ref": "#/components/schemas/Reached"]),
        ], problems: problems + [.appNotAllowed, .starting, .notYet])

    static let pauseProvider = APIOperation(
        "pauseProvider", .put, "/v1/providers/{provider}/pause", "Send nothing to a provider.", scopes: [.operate],
        pathParameters: [provider], body: why, responses: paused, problems: problemsOfPauses)

    static let resumeProvider = APIOperation(
        "resumeProvider", .delete, "/v1/providers/{provider}/pause", "Send to a provider again.", scopes: [.operate],
        pathParameters: [provider], responses: paused, problems: problemsOfPauses)

    static let pauseCredential = APIOperation(
        "pauseCredential", .put, "/v1/providers/{provider}/credentials/{credential}/pause",
        "Send nothing with a credential.", scopes: [.operate], pathParameters: [provider, credential], body: why,
        responses: paused, problems: problemsOfPauses)

    static let resumeCredential = APIOperation(
        "resumeCredential", .delete, "/v1/providers/{provider}/credentials/{credential}/pause",
        "Send with a credential again.", scopes: [.operate], pathParameters: [provider, credential],
        responses: paused, problems: problemsOfPauses)

    static let operations = [cancel, pauseProvider, resumeProvider, pauseCredential, resumeCredential]

    static let schemas: [(name: String, value: Document)] = [
        (
            "Cancelled",
            [
                "type": "object", "required": ["request_id", "status", "recorded_at"],
                "properties": [
                    "request_id": ["type": "string"], "status": ["enum": ["cancelled"]],
                    "record": ["type": "string", "description": "Absent where it was recorded before."],
                    "recorded_at": ["type": "string", "format": "date-time"],
                ],
            ]
        ),
        (
            "Reached",
            [
                "type": "object", "required": ["request_id", "status", "recorded_at", "devices"],
                "properties": [
                    "request_id": ["type": "string"], "status": ["enum": ["cancelled"]],
                    "recorded_at": ["type": "string", "format": "date-time"],
                    "devices": ["type": "integer", "description": "For how many a push was written."],
                    "cancelled": [
                        "type": "integer",
                        "description": "How many pushes have ended so. Absent where it is not known.",
                    ],
                    "already_sent": [
                        "type": "integer",
                        "description": "How many the provider had taken. Absent where it is not known.",
                    ],
                ],
            ]
        ),
        (
            "Pause",
            [
                "type": "object", "required": ["provider", "status", "record", "recorded_at"],
                "properties": [
                    "provider": ["type": "string"], "credential": ["type": "string"],
                    "status": ["enum": ["paused", "resumed"]], "record": ["type": "string"],
                    "recorded_at": ["type": "string", "format": "date-time"],
                ],
            ]
        ),
    ]
}
