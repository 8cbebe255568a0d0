import Extraction
import Foundation

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
        appTypes,
    ]

    /// The file is read at the start.
    private static let appTypes: Setting = {
        let allowed =
            "@FILE with JSON such as {\"LoyaltyPoints\":{\"fixed\":{\"view\":\"points\"},\"expected\":[\"points\"]}}"
        return Setting(
            key: "app-types", defaultValue: .none, allowed: allowed,
            summary:
                "Types of app notifications beside document 2's: the pairs that each fixes, and the keys that it should have."
        ) { text, draft throws(InvalidValue) in
            guard !text.isEmpty else {
                draft.configuration.requests.appTypes = AppTypes()
                return
            }
            guard text.hasPrefix("@") else { throw InvalidValue(allowed: allowed) }
            guard let data = FileManager.default.contents(atPath: String(text.dropFirst())) else {
                throw InvalidValue(allowed: "\(allowed); the file cannot be read")
            }
            do throws(InvalidAppTypes) {
                draft.configuration.requests.appTypes = try AppTypes(json: Array(data))
            } catch {
                throw InvalidValue(allowed: "\(allowed); \(error.problems.joined(separator: "; "))")
            }
        }
    }()
}
