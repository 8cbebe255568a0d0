import HTTPServer
import Notifications
import Pipeline
import Registrar
import StateStore

/// Who is subscribed to an audience, as this process knows the subscriptions, whoever wrote them.
package final class AudienceEndpoints: Sendable {
    /// So many subscriptions are looked at before others have their turn.
    private static let pageSize = 1_000

    /// `subscriptions.max-age`, in milliseconds.
    private let maxAge: Int64
    /// So many devices are counted.
    private let most: Int
    private let writer: CommandWriter
    private let reads: TopicReads

    package init(
        _ configuration: PipelineConfiguration, _ writer: CommandWriter, _ reads: TopicReads,
        most: Int = TopicReads.mostRecords
    ) {
        maxAge = configuration.subscriptionsMaxAge.wholeMilliseconds
        (self.writer, self.reads, self.most) = (writer, reads, most)
    }

    package var all: [Endpoint] {
        [
            Endpoint(Self.get) { call throws(Problem) in try self.count(call) },
            Endpoint(Self.devices) { call throws(Problem) in try self.list(call) },
        ]
    }

    private static func audience(_ call: Call) throws(Problem) -> ByteText {
        let audience = ByteText(call.pathValues[0])
        guard audience.audience != nil else {
            throw Problem(.badPath, "the audience is none; allowed is \(Audience.allowed)")
        }
        try call.key?.permitEverybody("a device may have any audience")
        return audience
    }

    // MARK: Devices

    private func list(_ call: Call) throws(Problem) -> Endpoint.Reply {
        let (audience, limit, view) = (try Self.audience(call), try call.limit(), writer.view)
        let last = call.value("cursor").map { AddressHash(hex: $0) }
        if case .some(nil) = last {
            throw Problem(.badPath, "cursor cannot be read; allowed is what next was in the answer before")
        }
        return try writer.look(call) {
            nil
        } _: { () throws(Problem) in
            let page = try view.read { view throws(StoreError) in
                // One more, to know whether there is a rest.
                try view.devices(of: audience, after: last ?? nil, limit: limit + 1)
            }
            let items = page.prefix(limit).map { Document.object($0.subscriber.members(of: $0.id)) }
            var members: [(name: String, value: Document)] = [("items", .list(items))]
            if page.count > limit { members.append(("next", .text(page[limit - 1].subscriber.address.hex))) }
            return .now(call.response(.ok, .object(members)))
        }
    }

    // MARK: Counts

    private func count(_ call: Call) throws(Problem) -> Endpoint.Reply {
        let audience = try Self.audience(call)
        let (writer, view, reads, now, maxAge, most) = (writer, writer.view, reads, writer.now, maxAge, most)
        return try writer.look(call, taking: TopicReads.longest) {
            nil
        } _: { () throws(Problem) in
            try reads.reply(to: call) { turn in
                var tally = AudienceTally()
                var last: AddressHash?
                repeat {
                    if turn.isStopped { throw ReadingStopped() }
                    let page = try view.subscribers(of: audience, after: last, limit: Self.pageSize)
                    for subscriber in page {
                        tally.note(subscriber, isStale: subscriber.isStale(at: now, maxAge: maxAge))
                    }
                    guard tally.devices <= most else {
                        throw Problem(
                            .incomplete,
                            "the audience has more than \(most) devices, which is as many as are counted; "
                                + "…/devices has them page by page")
                    }
                    last = page.count == Self.pageSize ? page.last?.address : nil
                } while last != nil
                // A table that is filled again meanwhile has fewer.
                try writer.refuseUnlessFresh()
                return call.response(.ok, .object([("audience", .text(audience.text))] + tally.members))
            }
        }
    }
}

extension Subscriber {
    /// As a client sees it.
    ///
    /// - Parameter id: the device of the registrar that has the address; nil: none has.
    fileprivate func members(of id: DeviceID?) -> [(name: String, value: Document)] {
        var members: [(name: String, value: Document)] = []
        if let id { members.append(("device", .text(id.text))) }
        members += [
            ("address_sha256", .text(address.hex)), ("platform", .text(platform.rawValue)), ("app", .text(app)),
            ("environment", .text(environment.rawValue)),
        ]
        if let locale { members.append(("locale", .text(locale))) }
        if let lastSeen { members.append(("last_seen_at", .text(lastSeen.iso8601))) }
        return members
    }
}

extension AudienceEndpoints {
    private static let audience = APIOperation.Parameter(
        "audience",
        "place/<id>, channel/<id>, user/<id> or device/<SHA-256 of its address>, percent-encoded: place%2F42.",
        ["type": "string", "pattern": "^((place|channel|user)/.+|device/[0-9a-f]{64})$", "maxLength": 1024])
    private static let problems: [ProblemCode] = [.notYet, .audienceNotAllowed, .appNotAllowed]
    private static let count: Document = ["type": "integer", "minimum": 0]

    static let get = APIOperation(
        "getAudience", .get, "/v1/audiences/{audience}",
        "How many devices are subscribed to an audience, by provider, app and language.", scopes: [.readDevices],
        pathParameters: [audience], headers: [DeviceEndpoints.after],
        responses: [APIOperation.Response(.ok, "Counted now", ["$ref": "#/components/schemas/AudienceCounts"])],
        problems: problems + [.incomplete])

    static let devices = APIOperation(
        "listAudienceDevices", .get, "/v1/audiences/{audience}/devices",
        "The devices that are subscribed to an audience, whoever has subscribed them.", scopes: [.readDevices],
        pathParameters: [audience], query: PersonEndpoints.list, headers: [DeviceEndpoints.after],
        responses: [
            APIOperation.Response(
                .ok, "In the order of the hashes of their addresses",
                [
                    "type": "object", "required": ["items"],
                    "properties": [
                        "items": [
                            "type": "array", "maxItems": 1000, "items": ["$ref": "#/components/schemas/Subscriber"],
                        ],
                        "next": ["type": "string", "description": "The cursor for the rest; absent: this is all."],
                    ],
                ])
        ], problems: problems)

    static let operations = [get, devices]

    static let schemas: [(name: String, value: Document)] = [
        (
            "Subscriber",
            [
                "type": "object", "required": ["address_sha256", "platform", "app", "environment"],
                "properties": [
                    "device": [
                        "type": "string",
                        "description": "The id of the device that has the address; absent: no registrar knows one.",
                    ],
                    "address_sha256": ["type": "string", "pattern": "^[0-9a-f]{64}$"],
                    "platform": ["enum": .list(Platform.allCases.map { .text($0.rawValue) })],
                    "app": ["type": "string"],
                    "environment": ["enum": .list(PushEnvironment.allCases.map { .text($0.rawValue) })],
                    "locale": ["type": "string"], "last_seen_at": ["type": "string", "format": "date-time"],
                ],
            ]
        ),
        (
            "AudienceCounts",
            [
                "type": "object", "required": ["audience", "devices", "stale", "platforms", "apps", "languages"],
                "properties": [
                    "audience": ["type": "string"], "devices": count,
                    "stale": [
                        "type": "integer", "minimum": 0,
                        "description": "Not seen for longer than subscriptions.max-age: no push is written for these.",
                    ],
                    "platforms": [
                        "type": "object", "required": .list(Platform.allCases.map { .text($0.rawValue) }),
                        "properties": .object(Platform.allCases.map { ($0.rawValue, count) }),
                    ],
                    "apps": most("app", "A device without an app is in none."),
                    "languages": most("language", "The first part of the locale. A device without one is in none."),
                ],
            ]
        ),
    ]

    private static func most(_ name: String, _ summary: String) -> Document {
        [
            "type": "array", "maxItems": .integer(Int64(AudienceTally.mostListed)),
            "description": .text("Those with the most devices. \(summary)"),
            "items": [
                "type": "object", "required": [.text(name), "devices"],
                "properties": .object([(name, ["type": "string"] as Document), ("devices", count)]),
            ],
        ]
    }
}
