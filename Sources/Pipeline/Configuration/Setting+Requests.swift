import Foundation
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
        .custom(
            "requests.audiences", default: .value(""),
            allowed: "audiences with commas between, * at the end of one for any rest, such as channel/*,user/*",
            "The audiences that a request may name, else it is a dead letter; any by default."
        ) { text, draft in
            let names = list(text)
            draft.configuration.requests.audiences = names
            return names.allSatisfy { $0.wholeMatch(of: /(place|user|channel|device)\/[^*]*\*?/) != nil }
        },
        .custom(
            "requests.apps", default: .value(""),
            allowed: "bundle ids and package names with commas between, such as com.example.shop",
            "The apps whose devices a request reaches; all by default."
        ) { text, draft in
            draft.configuration.requests.apps = list(text)
            return !draft.configuration.requests.apps.contains("")
        },
        .file(
            "app-types",
            allowed:
                "@FILE with JSON such as {\"LoyaltyPoints\":{\"fixed\":{\"view\":\"points\"},\"expected\":[\"points\"]}}",
            "Types of app notifications beside document 2's: the pairs that each fixes, and the keys that it should have."
        ) { file, draft throws(InvalidForm) in
            draft.configuration.requests.appTypes = if let file { try AppTypes(json: file.bytes) } else { AppTypes() }
        },
    ]

    /// What stands between commas; nothing in an empty text.
    static func list(_ text: String) -> [String] {
        if text.isEmpty { return [] }
        return text.split(separator: ",", omittingEmptySubsequences: false).map {
            $0.trimmingCharacters(in: .whitespaces)
        }
    }
}
