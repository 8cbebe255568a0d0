import Notifications

/// What the description says of broadcasts. The rules in docs/rules.md §14 say more than a schema can.
enum BroadcastSchemas {
    private static let text: Document = ["type": ["string", "null"]]
    private static let time: Document = ["type": "string", "format": "date-time"]
    private static let number: Document = ["type": "integer", "minimum": 0]
    private static let states: Document = [
        "enum": ["waiting", "under_way", "done", "cancelled", "replaced", "expired", "failed"]
    ]

    private static func members(of kinds: [Document], action: Document) -> [(name: String, value: Document)] {
        [
            ("actiontype", ["const": action]), ("notificationtype", ["type": "string", "examples": .list(kinds)]),
            ("notificationid", ["type": ["string", "number"], "description": "As in the path, if it is there."]),
            (
                "expiry",
                [
                    "type": ["string", "integer"],
                    "description":
                        "A lifetime such as 3600000millis, or an instant; at most 28 days after published_at.",
                ]
            ),
            ("channel", text),
            ("audience", ["type": ["string", "null"], "pattern": "^channel/[^\\u0000-\\u001f\\u007f]+$"]),
            (
                "published_at",
                [
                    "type": ["string", "number", "null"],
                    "description": "The present time where it is absent; with it a repeat has the same message id.",
                ]
            ),
        ]
    }

    private static let display = RequestSchemas.object(
        ["actiontype", "notificationtype", "expiry", "fields"],
        members(of: ["general", "festive", "downtime", "others"], action: "display") + [
            ("type", text), ("poster", text),
            (
                "fields",
                [
                    "type": "array", "minItems": 1, "maxItems": 100,
                    "items": RequestSchemas.object(
                        ["language", "title", "msg"],
                        [
                            ("language", ["type": "string", "pattern": "^[A-Za-z0-9_-]{1,35}$"]),
                            ("title", ["type": "string"]), ("msg", ["type": "string"]),
                        ], "Each language once; the first is for devices whose own is not there."),
                ]
            ),
        ], "A broadcast that is shown, docs/rules.md §14.")

    private static let nonDisplay = RequestSchemas.object(
        ["actiontype", "notificationtype", "expiry"],
        members(of: ["enable-feature", "disable-feature"], action: "non-display") + [("data", text)],
        "A broadcast for the app, docs/rules.md §14.")

    static let all: [(name: String, value: Document)] = [
        (
            "Broadcast",
            ["oneOf": [["$ref": "#/components/schemas/Display"], ["$ref": "#/components/schemas/NonDisplay"]]]
        ),
        ("Display", display), ("NonDisplay", nonDisplay),
        (
            "BroadcastRecorded",
            [
                "type": "object",
                "required": ["id", "message_id", "audience", "published_at", "expires_at", "record"],
                "properties": [
                    "id": ["type": "string"], "message_id": ["type": "string"], "audience": ["type": "string"],
                    "published_at": time, "expires_at": time,
                    "record": ["type": "string", "description": "topic/partition/offset"],
                    "devices": ["type": "integer", "description": "Of the channel, where they were counted."],
                ],
            ]
        ),
        (
            "BroadcastCancelled",
            [
                "type": "object", "required": ["id", "state"],
                "properties": [
                    "id": ["type": "string"], "state": ["const": "cancelled"], "reached": number,
                    "joined_later": number, "partitions_done": number, "partitions": number,
                ],
            ]
        ),
        (
            "BroadcastRow",
            [
                "type": "object", "required": ["id", "state", "partitions_done", "partitions"],
                "properties": [
                    "id": ["type": "string"], "audience": ["type": "string"], "kind": ["type": "string"],
                    "published_at": time, "expires_at": time, "state": states, "partitions_done": number,
                    "partitions": number,
                ],
            ]
        ),
        (
            "BroadcastStatus",
            [
                "type": "object",
                "required": [
                    "id", "record", "state", "partitions", "devices_counted", "reached", "stale", "left",
                    "joined_later",
                ],
                "properties": [
                    "id": ["type": "string"], "message_id": ["type": "string"], "audience": ["type": "string"],
                    "kind": ["type": "string"], "published_at": time, "expires_at": time, "record": ["type": "string"],
                    "state": states, "reason": ["type": "string", "description": "Why it cannot be sent."],
                    "partitions": [
                        "type": "object",
                        "required": ["total", "done", "under_way", "waiting", "stopped", "without_pass"],
                        "properties": [
                            "total": number, "done": number, "under_way": number, "waiting": number, "stopped": number,
                            "without_pass": number,
                        ],
                    ],
                    "devices_counted": number, "devices_about": number, "reached": number, "stale": number,
                    "left": number, "joined_later": number, "per_second": ["type": "number"],
                    "seconds_left": ["type": "number"],
                ],
            ]
        ),
    ]
}
