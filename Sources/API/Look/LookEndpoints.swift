import Broadcasts
import Digests
import HTTPServer
import Notifications
import Pipeline
import Replay

/// What became of what was sent, read from the topics by the code of the commands of the same names.
package final class LookEndpoints: Sendable {
    private let configuration: PipelineConfiguration
    private let index: RequestIndex
    private let reads: TopicReads
    private let surroundings: APIHandler.Surroundings
    private let logger: Logger

    /// - Parameter index: finds the records of the last day's requests.
    package init(
        _ configuration: PipelineConfiguration, _ index: RequestIndex, _ reads: TopicReads,
        _ surroundings: APIHandler.Surroundings, logger: Logger
    ) {
        (self.configuration, self.index, self.reads) = (configuration, index, reads)
        (self.surroundings, self.logger) = (surroundings, logger)
    }

    package var all: [Endpoint] {
        [
            Endpoint(Self.explain) { call throws(Problem) in try self.explain(call) },
            Endpoint(Self.deliveries) { call throws(Problem) in try self.summarize(call) },
        ]
    }

    // MARK: Explain

    /// What is answered.
    private struct Explanations: Encodable {
        var explanations: [ExplanationReport]
        /// Why some of it is only approximately so.
        var approximations: [String]
        var notes: [String]
    }

    private func explain(_ call: Call) throws(Problem) -> Endpoint.Reply {
        let now = surroundings.now()
        var request = ReplayRequest()
        request.view = .asOfEvent
        request.from = try call.time("from", now: now)
        request.to = try call.time("to", now: now)
        switch (call.value("order"), call.value("request"), call.value("broadcast")) {
        case (let order?, nil, nil):
            try call.refuseBoundedKey("an order's pushes")
            request.filter.orders = [order]
        case (nil, nil, let id?): return try explain(call, broadcast: id)
        case (nil, let id?, nil):
            request.sources = [.requests]
            request.filter.requests = [id]
            if let record = index.find(id, for: call.key) {
                request.partitions = [record.partition]
                request.offsets = record.offset..<record.offset + 1
                request.from = record.time - 60_000
            }
        case (nil, nil, nil), (.some, .some, _), (.some, _, .some), (_, .some, .some):
            throw Problem(
                .badPath, "the query names nothing to explain, or two things; allowed is order, request or broadcast")
        }
        let chosen = try call.device().map(Explanation.Subject.device(tokenHash:)) ?? .events
        let (asked, configuration, logger) = (request, configuration, logger)
        return try reads.reply(to: call) { turn in
            var session = try ReplaySession(
                ReplayContext(configuration, turn, now: now, logger: logger), asked)
            try session.prepare()
            let found = try session.explain(chosen).filter { explanation in
                call.key?.permits(audiences: explanation.reading.audiences) ?? true
            }
            guard !found.isEmpty else { throw Problem(.notFound, "nothing of it is in the topics") }
            let reports = found.map { ExplanationReport($0, configuration.topics, configuration.deepLinks) }
            let told = Explanations(
                explanations: reports, approximations: session.input.approximations, notes: session.input.notes)
            return call.response(.ok, json: try JSONOutput.text(told))
        }
    }

    private func explain(_ call: Call, broadcast id: String) throws(Problem) -> Endpoint.Reply {
        guard !configuration.topics.broadcasts.isEmpty else {
            throw Problem(.notFound, "topic.broadcasts is not set, so there are no broadcasts")
        }
        guard let device = try call.device(), call.value("from") == nil, call.value("to") == nil else {
            throw Problem(.badPath, "a broadcast is explained for one device, and its time is known; allowed is device")
        }
        let (now, configuration, logger) = (surroundings.now(), configuration, logger)
        return try reads.reply(to: call) { turn in
            let read = BroadcastReads(configuration, turn, logger: logger)
            guard let entry = try read.log().newest(id), let broadcast = entry.broadcast,
                call.key?.mayHear(of: broadcast.audience) ?? true
            else { throw Problem(.notFound, "no broadcast with this id is there that could be sent") }
            var log = try KafkaLog(ReplayContext(configuration, turn, now: now, logger: logger))
            let found = try log.explain(
                entry, broadcast, for: device, read.group(), configuration,
                journal: { try read.journal(since: entry, take: $0) })
            return call.response(.ok, json: try JSONOutput.text(found))
        }
    }

    // MARK: Deliveries

    private func summarize(_ call: Call) throws(Problem) -> Endpoint.Reply {
        try call.refuseBoundedKey("the outcomes of all pushes")
        let now = surroundings.now()
        let from = try call.time("from", now: now) ?? now - 3_600_000
        let to = try call.time("to", now: now)
        let (configuration, logger) = (configuration, logger)
        return try reads.reply(to: call) { turn in
            var log = try KafkaLog(ReplayContext(configuration, turn, now: now, logger: logger))
            let summary = try log.summarize(configuration.topics, from: from, to: to) { _, _ in }
            return call.response(
                .ok, json: try JSONOutput.text(DeliverySummaryReport(summary, configuration.topics, from: from, to: to))
            )
        }
    }
}

extension Call {
    /// A time of the query; nil if it is not given.
    fileprivate func time(_ name: String, now: WallTime) throws(Problem) -> WallTime? {
        guard let text = value(name) else { return nil }
        guard let time = GivenTime(text) else {
            throw Problem(.badPath, "\(name) is no time; allowed is \(GivenTime.allowed)")
        }
        return time.time(now: now)
    }

    /// The device of the query, by the SHA-256 of its token; nil if none is given.
    fileprivate func device() throws(Problem) -> String? {
        guard var device = value("device") else { return nil }
        guard device.withUTF8({ Hex.isHash(UnsafeRawBufferPointer($0)) }) else {
            throw Problem(
                .badPath, "device is not one; allowed is the SHA-256 of its token, 64 digits of hex in lower case")
        }
        return device
    }

    /// A key for some audiences or apps does not hear of the others.
    fileprivate func refuseBoundedKey(_ subject: String) throws(Problem) {
        guard let key, !key.audiences.isEmpty || !key.apps.isEmpty else { return }
        throw Problem(
            .audienceNotAllowed, "\(subject) are of every audience and app; allowed is a key that is bound to none")
    }
}

extension LookEndpoints {
    private static let time: Document = ["type": "string", "minLength": 1, "maxLength": 64]
    private static let from = APIOperation.Parameter("from", "A time, or so long ago, such as -2h.", time)
    private static let to = APIOperation.Parameter("to", "The same; now by default.", time)
    private static let id: Document = ["type": "string", "minLength": 1, "maxLength": 255]

    static let explain = APIOperation(
        "explain", .get, "/v1/explain",
        "Why somebody was notified, or was not, by the present topics: what carillon explain --json says.",
        scopes: [.readTraces],
        query: [
            APIOperation.Parameter("request", "The id of a request.", id),
            APIOperation.Parameter("order", "The id of an order.", id),
            APIOperation.Parameter("broadcast", "The id of a broadcast, whose device is named.", id),
            APIOperation.Parameter(
                "device", "The SHA-256 of a device's token: why this one.",
                ["type": "string", "pattern": "^[0-9a-f]{64}$"]), from, to,
        ],
        responses: [
            APIOperation.Response(
                .ok, "What became of it",
                [
                    "oneOf": [
                        ["$ref": "#/components/schemas/Explanations"],
                        ["$ref": "#/components/schemas/BroadcastExplanation"],
                    ]
                ])
        ],
        problems: [.audienceNotAllowed, .incomplete, .notYet])

    static let deliveries = APIOperation(
        "summarizeDeliveries", .get, "/v1/deliveries",
        "How many pushes had which outcome at the providers: what carillon deliveries summary --json says.",
        scopes: [.readTraces], query: [from, to],
        responses: [
            APIOperation.Response(.ok, "The outcomes, counted", ["$ref": "#/components/schemas/DeliverySummary"])
        ], problems: [.audienceNotAllowed, .incomplete, .notYet])

    static let operations = [explain, deliveries]

    static let schemas: [(name: String, value: Document)] = [
        (
            "Explanations",
            [
                "type": "object", "required": ["explanations", "approximations", "notes"],
                "properties": [
                    "explanations": [
                        "type": "array", "minItems": 1,
                        "items": [
                            "type": "object", "required": ["source", "outcome", "devices", "pushes"],
                            "properties": [
                                "source": ["type": "string"],
                                "outcome": ["type": "string", "enum": ["sent", "not_sent", "dead_letter"]],
                                "reason": ["type": "string"], "message": ["type": "string"],
                                "devices": ["type": "integer"],
                                "pushes": ["type": "array", "items": ["type": "object"]],
                            ],
                        ],
                    ],
                    "approximations": ["type": "array", "items": ["type": "string"]],
                    "notes": ["type": "array", "items": ["type": "string"]],
                ],
            ]
        ),
        (
            "BroadcastExplanation",
            [
                "type": "object",
                "required": ["broadcast", "message_id", "audience", "record", "device", "partition", "sent", "fates"],
                "properties": [
                    "broadcast": ["type": "string"], "message_id": ["type": "string"], "audience": ["type": "string"],
                    "record": ["type": "string"], "device": ["type": "string"], "partition": ["type": "integer"],
                    "sent": ["type": "boolean"],
                    "fates": [
                        "type": "array",
                        "items": [
                            "type": "object", "required": ["outcome", "message"],
                            "properties": ["outcome": ["type": "string"], "message": ["type": "string"]],
                        ],
                    ],
                    "outcomes": ["type": "array", "items": ["type": "object"]],
                ],
            ]
        ),
        ("Tally", tally),
        (
            "DeliverySummary",
            [
                "type": "object", "required": ["topic", "from", "total", "groups", "unreadable"],
                "properties": [
                    "topic": ["type": "string"], "from": ["type": "string"], "to": ["type": "string"],
                    "total": ["$ref": "#/components/schemas/Tally"],
                    "others": ["$ref": "#/components/schemas/Tally"], "unreadable": ["type": "integer"],
                    "receipts": ["type": "array", "items": receipts], "other_receipts": ["type": "integer"],
                    "groups": [
                        "type": "array",
                        "items": [
                            "type": "object", "required": ["platform", "outcome", "tally"],
                            "properties": [
                                "platform": ["type": "string"], "outcome": ["type": "string"],
                                "credential": ["type": "string"], "app": ["type": "string"],
                                "status": ["type": "integer"], "reason": ["type": "string"],
                                "tally": ["$ref": "#/components/schemas/Tally"],
                            ],
                        ],
                    ],
                ],
            ]
        ),
    ]

    private static let receipts: Document = [
        "type": "object", "required": ["platform", "app", "received", "opened", "dismissed"],
        "properties": [
            "platform": ["type": "string"], "app": ["type": "string"], "received": ["type": "integer"],
            "opened": ["type": "integer"], "dismissed": ["type": "integer"],
        ],
    ]

    private static let tally: Document = [
        "type": "object", "required": ["outcomes", "requests"],
        "properties": [
            "outcomes": ["type": "integer"], "requests": ["type": "integer"], "p50_ms": ["type": "integer"],
            "p99_ms": ["type": "integer"],
        ],
    ]
}
