import Notifications

/// What the description says of the bodies of requests. The rules in docs/rules.md §8 to §10 say more than a schema can.
enum RequestSchemas {
    private static let time: Document = [
        "type": ["string", "number", "null"],
        "description": "ISO 8601, UTC without an offset; or seconds or milliseconds since 1970.",
    ]
    private static let text: Document = ["type": ["string", "null"]]
    private static let texts = optional(["type": "array", "items": ["type": "string"]])
    private static let audience: Document = [
        "type": "string", "maxLength": 1024,
        "pattern": "^((place|user|channel)/[^\\u0000-\\u001f\\u007f]+|device/[0-9a-f]{64})$",
    ]

    static let all: [(name: String, value: Document)] = [
        (
            "Request",
            object(
                ["audience"],
                [
                    ("request_id", ["type": ["string", "number"], "description": "As in the path, if it is there."]),
                    ("requested_at", time),
                    (
                        "audience",
                        ["anyOf": [audience, ["type": "array", "minItems": 1, "maxItems": 1000, "items": audience]]]
                    ), ("expires_at", time), ("collapse_key", text),
                    ("priority", optional(["enum": ["high", "normal"]])),
                    ("app", optional(["$ref": "#/components/schemas/App"])),
                    ("message", optional(["$ref": "#/components/schemas/Message"])),
                ], "One notification: app or message, docs/rules.md §8.")
        ),
        (
            "App",
            object(
                ["title", "body", "data"],
                [
                    ("title", ["type": "string"]), ("body", ["type": "string"]), ("imageUrl", text),
                    ("data", ["type": "object", "required": ["type"]]),
                ], "An app notification, docs/rules.md §9.")
        ),
        (
            "Message",
            object(
                [],
                [
                    ("title", text), ("body", text), ("titleLocKey", text), ("titleLocArgs", texts),
                    ("bodyLocKey", text), ("bodyLocArgs", texts), ("badge", optional(["type": "integer"])),
                    ("sound", text), ("icon", text), ("category", text), ("collapseKey", text), ("validUntil", time),
                    ("extras", optional(["type": "object"])), ("silent", optional(["type": "boolean"])),
                ], "A message, docs/rules.md §10.")
        ),
        (
            "Absent",
            [
                "type": ["string", "null"], "description": "As if the member were not there.",
                // JavaScript's blanks, which \s is not everywhere.
                "pattern": .text(
                    #"^[\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*$"#),
            ]
        ),
        (
            "Recorded",
            [
                "type": "object", "required": ["request_id", "message_id", "record", "recorded_at"],
                "properties": [
                    "request_id": ["type": "string"],
                    "message_id": ["type": "string", "description": "As the pushes have it."],
                    "record": ["type": "string", "description": "topic/partition/offset"],
                    "recorded_at": ["type": "string", "format": "date-time"],
                ],
            ]
        ),
        (
            "RequestStatus",
            [
                "type": "object", "required": ["request_id", "status", "record", "recorded_at"],
                "properties": [
                    "request_id": ["type": "string"],
                    "status": ["enum": ["recorded", "sent", "suppressed", "dead_letter"]],
                    "record": ["type": "string"], "recorded_at": ["type": "string", "format": "date-time"],
                    "devices": ["type": "integer", "description": "For so many the pipeline has written a push."],
                    "outcomes": [
                        "type": "object", "additionalProperties": ["type": "integer"],
                        "description": "How many of the pushes have which outcome; the others have none yet.",
                    ],
                    "dead_letter": [
                        "type": "object", "required": ["code", "detail", "record"],
                        "properties": [
                            "code": ["type": "string"], "detail": ["type": "string"], "record": ["type": "string"],
                        ],
                    ],
                ],
            ]
        ),
        (
            "DryRun",
            [
                "type": "object", "required": ["request_id", "message_id", "messages"],
                "properties": [
                    "request_id": ["type": "string"], "message_id": ["type": "string"],
                    "messages": [
                        "type": "array",
                        "items": [
                            "type": "object", "required": ["platform"],
                            "properties": [
                                "platform": ["type": "string"],
                                "headers": ["type": "object", "additionalProperties": ["type": "string"]],
                                "payload": ["type": "string", "description": "What the provider gets."],
                                "code": ["type": "string"], "detail": ["type": "string"],
                            ],
                        ],
                    ],
                    "devices": [
                        "type": "object", "additionalProperties": ["type": "integer"],
                        "description": "Absent where the subscriptions are too many to be counted.",
                    ],
                ],
            ]
        ),
    ]

    /// docs/rules.md §8.1.
    private static func optional(_ schema: Document) -> Document {
        ["anyOf": [schema, ["$ref": "#/components/schemas/Absent"]]]
    }

    static func object(
        _ required: [String], _ members: [(name: String, value: Document)], _ summary: String
    ) -> Document {
        [
            "type": "object", "description": .text(summary), "required": .list(required.map(Document.text)),
            "additionalProperties": false, "properties": .object(members),
        ]
    }
}
