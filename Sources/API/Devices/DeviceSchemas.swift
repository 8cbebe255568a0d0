import Notifications
import Registrar

extension DeviceState {
    /// As a client sees it: without its address and its credential.
    ///
    /// - Parameter known: its person; nil: the device has none, or nothing was set for it.
    func members(_ known: PersonState?) -> [(name: String, value: Document)] {
        var members: [(name: String, value: Document)] = [
            ("device", .text(id.text)), ("revision", .integer(revision)), ("address", address.document),
            ("app", .text(app.text)), ("environment", .text(environment.rawValue)),
        ]
        if let locale { members.append(("locale", .text(locale.text))) }
        if let timeZone { members.append(("time_zone", .text(timeZone.text))) }
        if let person {
            members.append(("person", .text(person.text)))
            members.append(("person_audiences", .list((known?.audiences ?? []).map { .text($0.text) })))
        }
        members.append(("audiences", .list(audiences.map { .text($0.text) })))
        if let generation { members.append(("generation", .integer(generation))) }
        members.append(("registered_at", .text(registeredAt.iso8601)))
        members.append(("seen_at", .text(seenAt.iso8601)))
        return members
    }
}

extension AddressState {
    fileprivate var document: Document {
        switch self {
        case .none: ["state": "none"]
        case .live(let address):
            [
                "state": "live", "kind": .text(address.kind.rawValue), "sha256": .text(address.hash.hex),
                "since": .text(address.since.iso8601),
            ]
        case .dead(let hash, let death):
            [
                "state": "dead", "sha256": .text(hash.hex), "provider": .text(death.platform.rawValue),
                "reason": .text(death.reason.text), "since": .text(death.at.iso8601),
            ]
        case .claimed(let hash, let time):
            ["state": "claimed", "sha256": .text(hash.hex), "since": .text(time.iso8601)]
        }
    }
}

extension DeviceEndpoints {
    private static let device = APIOperation.Parameter(
        "device", "The id of the device: of one installation of an app, which makes it.",
        ["type": "string", "pattern": "^[A-Za-z0-9_-]{16,64}$"])
    private static let ifMatch = APIOperation.Parameter(
        "If-Match", "Only where the device has this ETag; *: only where it is there.", ["type": "string"])
    private static let audience = APIOperation.Parameter(
        "audience", "place/<id> or channel/<id>, percent-encoded: place%2F42.",
        ["type": "string", "pattern": "^(place|channel)/.+$", "maxLength": 1024])
    private static let ifNoneMatch = APIOperation.Parameter(
        "If-None-Match", "Only where it is not there.", ["enum": ["*"]])
    private static let known = Document.object([("$ref", "#/components/schemas/Device")])
    static let after = APIOperation.Parameter(
        "Carillon-After", "What Carillon-Position was in an answer: this process waits until it knows that change.",
        ["type": "string", "pattern": "^[0-9]{1,18}$"])
    static let recorded = APIOperation.Response(
        .accepted, "Recorded in Kafka, and not decided in time: it will be, in its order",
        ["$ref": "#/components/schemas/RecordedCommand"])
    private static let problems: [ProblemCode] = [
        .notRecorded, .outcomeUnknown, .notYet, .revision, .audienceNotAllowed, .appNotAllowed,
    ]
    private static let text: Document = ["type": "string", "maxLength": 255]

    /// The members of a device that its app says.
    private static let members: [(name: String, value: Document)] = [
        (
            "address",
            [
                "anyOf": [
                    [
                        "type": "object", "required": ["kind", "value"], "additionalProperties": false,
                        "properties": [
                            "kind": ["enum": .list(AddressKind.allCases.map { .text($0.rawValue) })],
                            "value": [
                                "type": "string", "minLength": 1, "maxLength": 4096,
                                "description": "The provider's token or id. It is never returned.",
                            ],
                        ],
                    ], ["type": "null"],
                ]
            ]
        ),
        (
            "app",
            ["type": "string", "minLength": 1, "maxLength": 255, "description": "The bundle id or package name."]
        ),
        ("environment", ["anyOf": [["enum": ["production", "development"]], ["type": "null"]]]),
        ("locale", ["anyOf": [text, ["type": "null"]]]),
        ("time_zone", ["anyOf": [text, ["type": "null"]]]),
        (
            "person",
            [
                "anyOf": [["type": "string", "minLength": 1, "maxLength": 1019], ["type": "null"]],
                "description": "The shop's own id of its user; absent: nobody is logged in.",
            ]
        ),
        (
            "audiences",
            [
                "type": "array", "maxItems": .integer(Int64(DeviceState.mostAudiences)),
                "items": ["type": "string", "pattern": "^(place|channel)/.+$", "maxLength": 1024],
                "description": "Places and channels that are the device's own; absent: none.",
            ]
        ),
        (
            "generation",
            [
                "type": "integer", "minimum": 0, "maximum": .integer(DeviceChange.generations.upperBound),
                "description": "The app's counter of its own changes: an older one than the device's is refused.",
            ]
        ),
    ]

    private static let body = APIOperation.Body([
        "type": "object", "required": ["app"], "additionalProperties": false, "properties": .object(members),
    ])

    /// RFC 7396: what is absent is kept, and null removes.
    private static let change: Document = [
        "type": "object", "additionalProperties": false,
        "description": "What is absent is kept; null removes. An address is replaced in whole.",
        "properties": .object(
            members.map { $0.name == "audiences" ? ($0.name, ["anyOf": [$0.value, ["type": "null"]]]) : $0 }),
    ]

    private static let changed = APIOperation.Response(.ok, "Decided: this is what it is now", known)

    private static let notTheirs = APIOperation.Response(
        .noContent, "Decided, and the device is not, or no more, of the user who asked")

    static let put = APIOperation(
        "putDevice", .put, "/v1/devices/{device}",
        "The whole device, as its app sees it: it is made if it is new, and what is absent is removed.",
        scopes: [.writeDevices], isForUsers: true, pathParameters: [device],
        query: [
            APIOperation.Parameter(
                "new_secret", "Make a new device credential: the app has none. The PUT has the present address.",
                ["type": "string", "enum": ["1"]])
        ],
        headers: [ifMatch, ifNoneMatch], body: body,
        responses: [changed, APIOperation.Response(.created, "Decided: it is new", known), notTheirs, recorded],
        problems: problems + [.staleGeneration])

    static let patch = APIOperation(
        "patchDevice", .patch, "/v1/devices/{device}",
        "Single members of a device, by JSON Merge Patch (RFC 7396).", scopes: [.writeDevices], isForUsers: true,
        isForDevices: true, pathParameters: [device], headers: [ifMatch],
        body: APIOperation.Body(merging: ["$ref": "#/components/schemas/DeviceChange"]),
        responses: [changed, notTheirs, recorded], problems: problems + [.staleGeneration])

    static let addAudience = APIOperation(
        "addAudience", .put, "/v1/devices/{device}/audiences/{audience}", "Add one audience to a device's own.",
        scopes: [.writeDevices], isForUsers: true, pathParameters: [device, audience], headers: [ifMatch],
        responses: [changed, notTheirs, recorded], problems: problems + [.badRequest])

    static let removeAudience = APIOperation(
        "removeAudience", .delete, "/v1/devices/{device}/audiences/{audience}",
        "Remove one audience from a device's own.", scopes: [.writeDevices], isForUsers: true, isForDevices: true,
        pathParameters: [device, audience], headers: [ifMatch],
        responses: [APIOperation.Response(.noContent, "Decided: the device does not have it"), recorded],
        problems: problems)

    static let delete = APIOperation(
        "deleteDevice", .delete, "/v1/devices/{device}", "Forget a device, and unsubscribe its address.",
        scopes: [.writeDevices], isForUsers: true, isForDevices: true, pathParameters: [device], headers: [ifMatch],
        responses: [APIOperation.Response(.noContent, "It is not there, or not any more"), recorded],
        problems: problems)

    static let get = APIOperation(
        "getDevice", .get, "/v1/devices/{device}", "What is known of a device.", scopes: [.readDevices],
        isForUsers: true, isForDevices: true, pathParameters: [device], headers: [after],
        responses: [APIOperation.Response(.ok, "What it is", known)],
        problems: [.notYet, .audienceNotAllowed, .appNotAllowed])

    static let logOut = APIOperation(
        "logOutDevice", .delete, "/v1/devices/{device}/person",
        "Nobody is logged in on the device any more: the places that it had for its person leave, channels stay.",
        scopes: [.writeDevices], isForUsers: true, isForDevices: true, pathParameters: [device], headers: [ifMatch],
        responses: [APIOperation.Response(.noContent, "Decided: nobody is logged in"), recorded], problems: problems)

    static let operations = [put, patch, delete, get, logOut, addAudience, removeAudience]

    private static let time: Document = ["type": "string", "format": "date-time"]

    static let schemas: [(name: String, value: Document)] = [
        ("DeviceChange", change),
        (
            "Device",
            [
                "type": "object",
                "required": [
                    "device", "revision", "address", "app", "environment", "audiences", "registered_at", "seen_at",
                ],
                "properties": [
                    "device": ["type": "string"],
                    "revision": ["type": "integer", "description": "Its ETag is this number in quotes."],
                    "address": [
                        "type": "object", "required": ["state"],
                        "properties": [
                            "state": [
                                "enum": ["none", "live", "dead", "claimed"],
                                "description":
                                    "dead: its provider says that nobody has it; claimed: another device has it.",
                            ],
                            "kind": ["enum": .list(AddressKind.allCases.map { .text($0.rawValue) })],
                            "sha256": ["type": "string", "description": "Of the address, in hex."],
                            "provider": ["enum": .list(Platform.allCases.map { .text($0.rawValue) })],
                            "reason": ["type": "string", "description": "As the provider calls it."], "since": time,
                        ],
                    ],
                    "app": ["type": "string"], "environment": ["enum": ["production", "development"]],
                    "locale": ["type": "string"], "time_zone": ["type": "string"], "person": ["type": "string"],
                    "person_audiences": [
                        "type": "array", "items": ["type": "string"],
                        "description": "What the backend has set for the person.",
                    ],
                    "audiences": ["type": "array", "items": ["type": "string"]],
                    "generation": ["type": "integer"], "registered_at": time,
                    "seen_at": ["type": "string", "format": "date-time", "description": "To a day."],
                    "secret": [
                        "type": "string",
                        "description": "Of the device credential that this PUT has made: it is told once.",
                    ],
                ],
            ]
        ),
        (
            "RecordedCommand",
            [
                "type": "object", "required": ["command", "status"],
                "properties": [
                    "command": ["type": "integer", "description": "Its offset in the topic of commands."],
                    "status": ["enum": ["recorded"]],
                ],
            ]
        ),
    ]
}
