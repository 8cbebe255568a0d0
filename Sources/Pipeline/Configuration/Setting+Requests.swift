import JSONReader

extension Setting {
    /// What a request says, and where its topic begins (docs/rules.md §8.9).
    static let requests: [Setting] = [
        .duration(
            "requests.from", \.configuration.requestsFrom, default: "1h", .zero ... .days(365),
            "Where a partition of `topic.requests` without a committed offset starts: so long ago, unless `from` is set."
        ),
        .duration(
            "requests.ttl", \.configuration.requests.timeToLive, default: "24h", .seconds(1) ... .days(28),
            "How long a request without an expiry of its own is worth delivering."),
        .choice(
            "requests.unknown-types", \.configuration.requests.unknownTypes, default: .value("send"),
            "What happens to an app notification of an unknown type: sent and counted, or a dead letter."),
        .choice(
            "requests.notification-count", \.configuration.rendering.sendsNotificationCount, default: .value("off"),
            ["on": true, "off": false], "`on`: a request's badge is also sent to FCM devices."),
        .choice(
            "requests.compat-ignore-valid-until", \.configuration.requests.ignoresValidUntil, default: .value("off"),
            ["on": true, "off": false],
            "`on`: FCM's message ignores `validUntil`, as document 5 says. `expires-at` still follows it."),
        .file(
            "app-types",
            allowed:
                "@FILE with JSON such as {\"LoyaltyPoints\":{\"fixed\":{\"view\":\"points\"},\"expected\":[\"points\"]}}",
            "Types of app notifications beside document 2's: the pairs that each fixes, and the keys that it should have."
        ) { file, draft throws(InvalidForm) in
            draft.configuration.requests.appTypes = if let file { try AppTypes(json: file.bytes) } else { AppTypes() }
        },
    ]
}
