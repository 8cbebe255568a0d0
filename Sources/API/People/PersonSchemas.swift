import Notifications
import Registrar

extension PersonEndpoints {
    static let person = APIOperation.Parameter(
        "person", "The shop's own id of its user, percent-encoded.",
        ["type": "string", "minLength": 1, "maxLength": 1019])
    private static let device = APIOperation.Parameter(
        "device", "The id of the device.", ["type": "string", "pattern": "^[A-Za-z0-9_-]{16,64}$"])
    static let ifMatch = APIOperation.Parameter(
        "If-Match", "Only where the person has this ETag; *: only where something was set.", ["type": "string"])
    private static let ifNoneMatch = APIOperation.Parameter(
        "If-None-Match", "Only where nothing was set.", ["enum": ["*"]])
    static let list = [
        APIOperation.Parameter("limit", "How many at most; 100.", ["type": "integer", "minimum": 1, "maximum": 1000]),
        APIOperation.Parameter("cursor", "What next was in the answer before.", ["type": "string"]),
    ]
    private static let known = Document.object([("$ref", "#/components/schemas/Person")])
    private static let changed = APIOperation.Response(.ok, "Decided: this is what is known now", known)
    private static let granted: Document = ["$ref": "#/components/schemas/Audiences"]
    private static let refused: [ProblemCode] = [.notYet, .audienceNotAllowed, .appNotAllowed]
    private static let problems = refused + [.notRecorded, .outcomeUnknown, .revision]
    private static let text: Document = ["anyOf": [["type": "string", "maxLength": 255], ["type": "null"]]]
    private static let audiences: Document = [
        "type": "array", "maxItems": .integer(Int64(PersonState.mostAudiences)),
        "items": ["type": "string", "pattern": "^(place|channel)/.+$", "maxLength": 1024],
        "description": "Places and channels of each device of the person, also of one that comes later.",
    ]

    static let get = APIOperation(
        "getPerson", .get, "/v1/people/{person}", "What is known of a person.", scopes: [.readPeople],
        isForUsers: true, pathParameters: [person], headers: [DeviceEndpoints.after],
        responses: [APIOperation.Response(.ok, "What it is", known)],
        problems: refused)

    static let patch = APIOperation(
        "patchPerson", .patch, "/v1/people/{person}",
        "Single members of a person, by JSON Merge Patch (RFC 7396). Audiences are for keys alone.",
        scopes: [.writePeople], isForUsers: true, pathParameters: [person], headers: [ifMatch, ifNoneMatch],
        body: APIOperation.Body(merging: ["$ref": "#/components/schemas/PersonChange"]),
        responses: [changed, DeviceEndpoints.recorded], problems: problems)

    static let getAudiences = APIOperation(
        "getPersonAudiences", .get, "/v1/people/{person}/audiences", "What the backend has granted a person.",
        scopes: [.readPeople], pathParameters: [person],
        headers: [DeviceEndpoints.after], responses: [APIOperation.Response(.ok, "All of them", granted)],
        problems: refused)

    static let putAudiences = APIOperation(
        "putPersonAudiences", .put, "/v1/people/{person}/audiences",
        "Grant a person exactly these audiences, on each device, also on one that comes later.",
        scopes: [.writePeople], pathParameters: [person], headers: [ifMatch, ifNoneMatch],
        body: APIOperation.Body(audiences, largest: 1 << 20),
        responses: [APIOperation.Response(.ok, "Decided: these are granted", granted), DeviceEndpoints.recorded],
        problems: problems)

    static let devices = APIOperation(
        "listPersonDevices", .get, "/v1/people/{person}/devices", "Where a person is logged in.",
        scopes: [.readPeople], isForUsers: true, pathParameters: [person], query: list,
        headers: [DeviceEndpoints.after],
        responses: [
            APIOperation.Response(
                .ok, "In the order of their ids",
                [
                    "type": "object", "required": ["items"],
                    "properties": [
                        "items": ["type": "array", "items": ["$ref": "#/components/schemas/Device"]],
                        "next": ["type": "string", "description": "The cursor for the rest; absent: this is all."],
                    ],
                ])
        ], problems: refused)

    static let logOutOne = APIOperation(
        "logOutPersonDevice", .delete, "/v1/people/{person}/devices/{device}",
        "Log a person out on one device, from elsewhere.", scopes: [.writePeople], isForUsers: true,
        pathParameters: [person, device],
        responses: [
            APIOperation.Response(.noContent, "Decided: the person is not logged in there"), DeviceEndpoints.recorded,
        ], problems: problems)

    static let logOutAll = APIOperation(
        "logOutPerson", .delete, "/v1/people/{person}/devices", "Log a person out everywhere.",
        scopes: [.writePeople], isForUsers: true, pathParameters: [person],
        responses: [
            APIOperation.Response(.noContent, "Decided: the person is logged in nowhere"), DeviceEndpoints.recorded,
        ], problems: problems)

    static let operations = [get, patch, getAudiences, putAudiences, devices, logOutOne, logOutAll]

    static let schemas: [(name: String, value: Document)] = [
        (
            "PersonChange",
            [
                "type": "object", "additionalProperties": false,
                "description": "What is absent is kept; null removes.",
                "properties": [
                    "locale": text, "time_zone": text, "audiences": ["anyOf": [audiences, ["type": "null"]]],
                ],
            ]
        ),
        (
            "Person",
            [
                "type": "object", "required": ["person", "audiences", "devices"],
                "properties": [
                    "person": ["type": "string"],
                    "revision": [
                        "type": "integer",
                        "description": "Its ETag is this number in quotes. Absent: nothing was set.",
                    ],
                    "locale": ["type": "string"], "time_zone": ["type": "string"], "audiences": audiences,
                    "devices": ["type": "integer", "description": "On how many devices the person is logged in."],
                    "erased_at": [
                        "type": "string", "format": "date-time", "description": "When the person was erased last.",
                    ],
                ],
            ]
        ),
        ("Audiences", ["type": "object", "required": ["audiences"], "properties": ["audiences": audiences]]),
    ]
}
