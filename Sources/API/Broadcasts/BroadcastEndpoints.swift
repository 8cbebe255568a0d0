import Broadcasts
import HTTPServer
import KafkaClient
import Notifications
import Pipeline
import Synchronization
import Telemetry

/// Broadcasts: sends one, cancels it, and says how far it has got (docs/rules.md §14).
package final class BroadcastEndpoints: Sendable {
    /// What a PUT asks for, which was checked.
    private struct Publication: Sendable {
        var call: Call
        var accepted: BroadcastCheck.Accepted
        var condition: EntityTag.Condition?
        /// Whether it takes the place of whatever is live.
        var replaces: Bool
        /// Of the channel, where they were counted.
        var devices: Int?

        var id: String { accepted.broadcast.notificationID }
    }

    /// The records of subscriptions to a channel that are read to count its devices, which takes about 300 bytes each.
    static let mostCounted = 1_000_000
    /// The newest in a list.
    private static let mostListed = 1_000
    /// How long a cancelled broadcast's devices are counted.
    private static let countTime = Duration.seconds(10)

    private let configuration: PipelineConfiguration
    private let topic: String
    private let wait: Duration
    private let writer: RecordWriter
    private let decisions: BroadcastDecisions
    private let reads: TopicReads
    private let surroundings: APIHandler.Surroundings
    private let logger: Logger
    private let check: Mutex<BroadcastCheck>

    /// - Parameter configuration: with `topic.broadcasts`.
    package init(
        _ configuration: PipelineConfiguration, _ writer: RecordWriter, _ decisions: BroadcastDecisions,
        _ reads: TopicReads, _ surroundings: APIHandler.Surroundings, logger: Logger
    ) {
        self.configuration = configuration
        (self.writer, self.decisions, self.reads) = (writer, decisions, reads)
        (self.surroundings, self.logger) = (surroundings, logger)
        (topic, wait) = (configuration.topics.broadcasts, configuration.api.wait)
        check = Mutex(BroadcastCheck(configuration))
    }

    package var all: [Endpoint] {
        [
            Endpoint(Self.put) { call throws(Problem) in try self.publish(call) },
            Endpoint(Self.get) { call throws(Problem) in
                try self.reads.reply(to: call) { turn in try self.status(call, turn) }
            },
            Endpoint(Self.delete) { call throws(Problem) in try self.cancel(call) },
            Endpoint(Self.list) { call throws(Problem) in
                try self.reads.reply(to: call) { turn in try self.rows(call, turn) }
            },
        ]
    }

    // MARK: Sending

    private func publish(_ call: Call) throws(Problem) -> Endpoint.Reply {
        let most = try Self.mostDevices(call)
        let now = surroundings.now()
        let accepted = try check.withLock { check throws(Problem) in
            try check.read(call.request.body, id: call.pathValues[0], now: now)
        }
        try permit(accepted.broadcast.audience, call.key)
        var call = call
        // The draft has what is needed of it.
        call.request.body = []
        let publication = Publication(
            call: call, accepted: accepted, condition: try Self.condition(call), replaces: try Self.replaces(call))
        guard let most else {
            return .later(within: wait * 2, otherwise: .outcomeUnknown) { respond in
                self.decide(publication, respond)
            }
        }
        return try reads.reply(to: call, within: TopicReads.longest + wait * 2, otherwise: .outcomeUnknown) {
            turn, respond in
            var counted = publication
            counted.devices = try self.count(accepted.broadcast, most, turn)
            self.decide(counted, respond)
        }
    }

    private func decide(_ publication: Publication, _ respond: @escaping @Sendable (HTTPResponse) -> Void) {
        let size = publication.accepted.draft.value.count
        decide(publication.call, size, respond) { self.write(publication, over: $0, respond) }
    }

    /// Lets the newest record of the id decide, once it is known to be that.
    ///
    /// - Parameter size: the bytes that wait with it.
    private func decide(
        _ call: Call, _ size: Int, _ respond: @escaping @Sendable (HTTPResponse) -> Void,
        by decide: @escaping @Sendable (BroadcastRecord?) -> Bool
    ) {
        let asked = ContinuousClock.now
        let isTaken = decisions.ask(
            .init(id: call.pathValues[0], asked: asked, deadline: asked + wait, size: size, decide: decide) {
                respond(
                    call.response(to: Problem(.notYet, "what is live now is not known: Kafka does not answer in time")))
            })
        if !isTaken {
            respond(call.response(to: Problem(.overloaded, "too many broadcasts wait to be decided")))
        }
    }

    /// - Parameter record: the newest of the id.
    /// - Returns: whether a record is being written.
    private func write(
        _ publication: Publication, over record: BroadcastRecord?,
        _ respond: @escaping @Sendable (HTTPResponse) -> Void
    ) -> Bool {
        let call = publication.call
        do throws(Problem) {
            if let place = try judge(publication, record) {
                respond(response(.ok, publication, place, [("Idempotency-Replayed", "true")]))
                return false
            }
        } catch {
            respond(call.response(to: error))
            return false
        }
        return give(publication.id, publication.accepted.draft.value, call, respond) { place in
            respond(self.response(.accepted, publication, place))
        }
    }

    /// - Returns: where the same broadcast is, if it is there already; nil: it may be written.
    private func judge(_ publication: Publication, _ record: BroadcastRecord?) throws(Problem) -> Place? {
        let now = surroundings.now()
        let found = check.withLock { check -> (broadcast: BroadcastNotification, isSame: Bool)? in
            guard let record, let live = check.broadcast(record), live.expiresAt > now else { return nil }
            return (live, check.isSame(record, as: publication.accepted))
        }
        guard let record, let found else {
            guard publication.condition == nil else {
                throw Problem(.revision, "no broadcast with this id is live, so none has the tag of If-Match")
            }
            return nil
        }
        let place = Place(offset: record.offset, broadcast: found.broadcast)
        if found.isSame { return place }
        guard publication.call.key?.permits(audience: found.broadcast.audience) ?? true else {
            throw Problem(.live, "the id is that of a live broadcast that the key may not reach; take another id")
        }
        if let condition = publication.condition {
            guard EntityTag.isMet(condition, by: place.tag) else {
                var problem = Problem(
                    .revision, "the live broadcast with this id is \(place.tag), another than If-Match has")
                problem.headers = [("ETag", place.tag)]
                throw problem
            }
        } else if !publication.replaces {
            var problem = Problem(
                .live,
                "another broadcast with this id is live; replace it with If-Match: \(place.tag) or with ?replace=1")
            problem.headers = [("ETag", place.tag)]
            throw problem
        }
        return nil
    }

    /// Gives a record to be written.
    ///
    /// - Parameters:
    ///   - value: nil: a tombstone.
    ///   - written: gets where it is; of anything else the client hears here.
    /// - Returns: true: the outcome is told to ``decisions``, too.
    private func give(
        _ id: String, _ value: [UInt8]?, _ call: Call, _ respond: @escaping @Sendable (HTTPResponse) -> Void,
        written: @escaping @Sendable (Place) -> Void
    ) -> Bool {
        let record = ProducerRecord(key: Array(id.utf8), value: value, headers: call.recordHeaders)
        return writer.write(record, to: topic, for: call, respond) {
            self.decisions.settle(id)
        } written: { _, offset in
            written(Place(offset: offset))
        }
    }

    private func count(_ broadcast: BroadcastNotification, _ most: Int, _ turn: TopicReads.Turn) throws -> Int {
        let count: Int
        do {
            count = try reads.large {
                try BroadcastReach.count(
                    broadcast, configuration, now: surroundings.now(), logger: logger.clientSink,
                    most: Self.mostCounted, isStopped: { turn.isStopped }
                ).count
            }
        } catch is SubscribedDevices.TooMany {
            throw Problem(
                .tooManyDevices, "\(broadcast.audience) has more devices than are counted, about \(Self.mostCounted)")
        }
        guard count <= most else {
            throw Problem(
                .tooManyDevices, "\(broadcast.audience) has \(count) devices; allowed by max_devices are \(most)")
        }
        return count
    }

    /// Whether the key may reach a channel, and every app.
    private func permit(_ audience: String, _ key: KeyEntry?) throws(Problem) {
        guard let key else { return }
        try permitApps(key)
        guard key.permits(audience: audience) else {
            throw Problem(
                .audienceNotAllowed,
                "the key may not reach \(audience); allowed are \(key.audiences.joined(separator: ", "))")
        }
    }

    private func permitApps(_ key: KeyEntry) throws(Problem) {
        guard key.apps.isEmpty else {
            throw Problem(
                .appNotAllowed,
                "the key may only reach \(key.apps.joined(separator: ", ")), and a broadcast reaches every app")
        }
    }

    // MARK: Cancelling

    private func cancel(_ call: Call) throws(Problem) -> Endpoint.Reply {
        if let key = call.key { try permitApps(key) }
        guard RequestBody.isID(call.pathValues[0]) else { throw Self.none }
        return .later(within: wait * 2 + Self.countTime, otherwise: .outcomeUnknown) { respond in
            self.decide(call, 0, respond) { self.cancel(call, $0, respond) }
        }
    }

    /// Writes the tombstone in any case: what was sent a moment ago, and has no answer yet, may come to be there.
    private func cancel(
        _ call: Call, _ record: BroadcastRecord?, _ respond: @escaping @Sendable (HTTPResponse) -> Void
    ) -> Bool {
        let now = surroundings.now()
        let broadcast = record.flatMap { record in check.withLock { $0.broadcast(record) } }
        if let broadcast, let key = call.key, !key.permits(audience: broadcast.audience) {
            respond(call.response(to: Self.none))
            return false
        }
        return give(call.pathValues[0], nil, call, respond) { _ in
            guard let broadcast, broadcast.expiresAt > now, let record else {
                return respond(call.response(.noContent))
            }
            let entry = BroadcastLog.Entry(
                offset: record.offset, time: record.timestamp, id: broadcast.notificationID,
                content: .published(broadcast))
            let isBegun = self.reads.begin(within: Self.countTime / 2) { turn in
                respond(
                    Self.cancelled(call, self.reads.value(for: call) { try self.read(turn).progress(of: entry) }))
            }
            if !isBegun { respond(Self.cancelled(call, nil)) }
        }
    }

    /// - Parameter progress: nil: not known now.
    private static func cancelled(_ call: Call, _ progress: BroadcastProgress?) -> HTTPResponse {
        var members: [(name: String, value: Document)] = [
            ("id", .text(call.pathValues[0])), ("state", .text(BroadcastState.cancelled.rawValue)),
        ]
        if let progress {
            members += [
                ("reached", .integer(Int64(progress.reached))), ("joined_later", .integer(Int64(progress.late))),
                ("partitions_done", .integer(Int64(progress.stages.over))),
                ("partitions", .integer(Int64(progress.partitions))),
            ]
        }
        return call.response(.ok, .object(members))
    }

    // MARK: Looking

    private func status(_ call: Call, _ turn: TopicReads.Turn) throws -> HTTPResponse {
        let read = read(turn)
        guard let entry = try read.log().newest(call.pathValues[0]),
            call.key?.mayHear(of: entry.broadcast?.audience) ?? true
        else { throw Self.none }
        let status = BroadcastStatus(
            entry: entry, progress: try read.progress(of: entry), topic: topic, now: surroundings.now())
        let tag = entry.end == nil ? [("ETag", Place(offset: entry.offset).tag)] : []
        return call.response(.ok, json: try JSONOutput.text(status), tag)
    }

    private func rows(_ call: Call, _ turn: TopicReads.Turn) throws -> HTTPResponse {
        let (log, group) = (try read(turn).log(), try read(turn).group())
        // Only what is valid: the journal has nothing to add.
        let rows = BroadcastRow.list(log, group, all: false, now: surroundings.now()) { _, _ in }
            .filter { call.key?.mayHear(of: $0.audience) ?? true }
        return call.response(.ok, json: try JSONOutput.text(["items": rows.suffix(Self.mostListed)]))
    }

    private func read(_ turn: TopicReads.Turn) -> BroadcastReads { BroadcastReads(configuration, turn, logger: logger) }

    private static let none = Problem(.notFound, "no broadcast with this id is there")
}

/// Where a broadcast is.
private struct Place: Sendable {
    var offset: Int64
    /// nil: what was asked for.
    var broadcast: BroadcastNotification?

    var tag: String { "\"0-\(offset)\"" }
}

extension BroadcastEndpoints {
    private func response(
        _ status: HTTPResponse.Status, _ publication: Publication, _ place: Place,
        _ more: [(name: String, value: String)] = []
    ) -> HTTPResponse {
        let broadcast = place.broadcast ?? publication.accepted.broadcast
        var members: [(name: String, value: Document)] = [
            ("id", .text(broadcast.notificationID)), ("message_id", .text(broadcast.messageID)),
            ("audience", .text(broadcast.audience)), ("published_at", .text(broadcast.publishedAt.iso8601)),
            ("expires_at", .text(broadcast.expiresAt.iso8601)),
            ("record", .text("\(RecordPosition(topic, 0, place.offset))")),
        ]
        if let devices = publication.devices { members.append(("devices", .integer(Int64(devices)))) }
        return publication.call.response(status, .object(members), [("ETag", place.tag)] + more)
    }

    private static func mostDevices(_ call: Call) throws(Problem) -> Int? {
        guard let text = call.value("max_devices") else { return nil }
        guard let most = Int(text), (0...mostCounted).contains(most) else {
            throw Problem(.badPath, "max_devices is no number of devices; allowed are 0 to \(mostCounted)")
        }
        return most
    }

    private static func replaces(_ call: Call) throws(Problem) -> Bool {
        guard let text = call.value("replace") else { return false }
        guard text == "1" else { throw Problem(.badPath, "replace is not 1; allowed is replace=1, or none") }
        return true
    }

    private static func condition(_ call: Call) throws(Problem) -> EntityTag.Condition? {
        let headers = call.request.headers.filter { $0.name == "if-match" }
        guard !headers.isEmpty else { return nil }
        guard let condition = EntityTag.condition(headers.map(\.value).joined(separator: ",")) else {
            throw Problem(.badHeader, "If-Match cannot be read; allowed are \(EntityTag.allowed)")
        }
        return condition
    }
}

extension BroadcastEndpoints {
    private static let id = APIOperation.Parameter(
        "id", "The notificationid of the broadcast, by which it may be repeated, replaced and cancelled.",
        ["type": "string", "minLength": 1, "maxLength": 255])
    private static let sent: Document = ["$ref": "#/components/schemas/BroadcastRecorded"]

    static let put = APIOperation(
        "putBroadcast", .put, "/v1/broadcasts/{id}",
        "Send a broadcast to every device in a channel. A live one is replaced only where the request says so.",
        scopes: [.broadcast], pathParameters: [id],
        query: [
            APIOperation.Parameter(
                "replace", "Replace whatever broadcast with this id is live; so does the header If-Match.",
                ["type": "string", "enum": ["1"]]),
            APIOperation.Parameter(
                "max_devices", "Count the devices of the channel first, and refuse more than these.",
                ["type": "integer", "minimum": 0, "maximum": .integer(Int64(mostCounted))]),
        ],
        headers: [
            APIOperation.Parameter(
                "If-Match", "Replace the live broadcast whose ETag this is; * is any.", ["type": "string"])
        ],
        body: APIOperation.Body(["$ref": "#/components/schemas/Broadcast"], largest: 512 << 10),
        responses: [
            APIOperation.Response(.accepted, "Recorded in Kafka", sent),
            APIOperation.Response(.ok, "Live already, with the same content", sent),
        ],
        problems: [
            .payloadTooLarge, .conflictingValue, .audienceNotAllowed, .appNotAllowed, .live, .revision, .tooManyDevices,
            .notRecorded, .outcomeUnknown, .notYet, .incomplete,
        ])

    static let get = APIOperation(
        "getBroadcast", .get, "/v1/broadcasts/{id}", "How far a broadcast has got.",
        scopes: [.broadcast, .readTraces], pathParameters: [id],
        responses: [
            APIOperation.Response(
                .ok, "As carillon broadcast status --json has it", ["$ref": "#/components/schemas/BroadcastStatus"])
        ],
        problems: [.notYet, .incomplete])

    static let delete = APIOperation(
        "deleteBroadcast", .delete, "/v1/broadcasts/{id}", "Send a broadcast to nobody else.", scopes: [.broadcast],
        pathParameters: [id],
        responses: [
            APIOperation.Response(
                .ok, "Cancelled, with the devices that it has reached as far as that can be read now",
                ["$ref": "#/components/schemas/BroadcastCancelled"]),
            APIOperation.Response(.noContent, "None with this id was live"),
        ], problems: [.appNotAllowed, .notRecorded, .outcomeUnknown, .notYet])

    static let list = APIOperation(
        "listBroadcasts", .get, "/v1/broadcasts", "The broadcasts that are valid now, the newest 1,000.",
        scopes: [.broadcast, .readTraces],
        responses: [
            APIOperation.Response(
                .ok, "In the order in which they were recorded",
                [
                    "type": "object", "required": ["items"],
                    "properties": [
                        "items": ["type": "array", "items": ["$ref": "#/components/schemas/BroadcastRow"]]
                    ],
                ])
        ], problems: [.notYet, .incomplete])

    static let operations = [put, get, delete, list]
}
