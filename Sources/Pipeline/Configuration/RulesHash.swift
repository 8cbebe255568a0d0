import Digests

/// A hash, in 16 hex digits, of what decides the payloads besides the events: the rules' version, the effective settings,
/// and the version of the time zone data. Two journal entries with the same hash were written by the same rules.
package struct RulesHash: Equatable, Sendable {
    package let text: String

    package init(
        rules: ExtractionRules, orders: OrderRules, requests: RequestRules, rendering: RenderSettings,
        maxAge: Duration, maxDevicesPerEvent: Int, maxBytesPerEvent: Int
    ) {
        var parts = ["rules=\(ExtractionRules.version)"] + OrderFold.settings(rules, orders)
        parts += [
            "ttl=\(rendering.timeToLiveSeconds)",
            "max-age=\(maxAge.wholeMilliseconds)",
            "max-devices=\(maxDevicesPerEvent)",
            "max-bytes=\(maxBytesPerEvent)",
            "android-priority=\(rendering.androidPriority.rawValue)",
        ]
        parts += orders.terminalStatuses.map { "terminal=\($0)" }.sorted()
        parts += orders.unpickedStatuses.map { "unpicked=\($0)" }.sorted()
        if let schedule = orders.schedule {
            parts.append("max-lateness=\(schedule.maxLateness.wholeMilliseconds)")
            parts.append("spread=\(schedule.spread.wholeMilliseconds)")
        }
        parts += rendering.optionalHeaders.map { "header=\($0.rawValue)" }.sorted()
        parts += rules.placeTimeZones.map { "place=\($0.key):\($0.value)" }.sorted()
        parts += Self.differing(requests, rendering)
        parts += rendering.display?.description ?? []
        text = SHA256.hex(of: parts.joined(separator: "\u{1F}"), digits: 16)
    }
}

extension RulesHash {
    /// A hash of the rules of requests, by which those are refused that are never seen.
    package static func stamp(of requests: RequestRules) -> String {
        SHA256.hex(of: differing(requests, RenderSettings()).joined(separator: "\u{1F}"), digits: 16)
    }

    /// The rules of requests that are not the default: who reads none has the hash of a version that knows none.
    private static func differing(_ requests: RequestRules, _ rendering: RenderSettings) -> [String] {
        let usual = RequestRules()
        var parts: [String] = []
        if requests.timeToLive != usual.timeToLive {
            parts.append("requests-ttl=\(requests.timeToLive.wholeMilliseconds)")
        }
        if requests.unknownTypes != usual.unknownTypes {
            parts.append("requests-unknown-types=\(requests.unknownTypes.rawValue)")
        }
        if rendering.sendsNotificationCount {
            parts.append("requests-notification-count=true")
        }
        if requests.ignoresValidUntil != usual.ignoresValidUntil {
            parts.append("requests-compat-ignore-valid-until=\(requests.ignoresValidUntil)")
        }
        parts += requests.audiences.map { "requests-audience=\($0)" }.sorted()
        parts += requests.apps.map { "requests-app=\($0)" }.sorted()
        for type in requests.appTypes.added.sorted(by: { $0.name < $1.name }) {
            parts.append("app-type=\(type.name)")
            // In their order, in which they are added.
            parts += type.fixed.flatMap { ["fixed=\($0.key)", "value=\($0.value)"] }
            parts += type.expected.map { "expected=\($0)" }.sorted()
        }
        return parts
    }
}

extension PipelineConfiguration {
    /// The hash by which the journal names the rules that these settings make.
    package var rulesHash: String {
        RulesHash(
            rules: rules, orders: orders, requests: requests, rendering: rendering, maxAge: subscriptionsMaxAge,
            maxDevicesPerEvent: maxDevicesPerEvent, maxBytesPerEvent: maxBytesPerEvent
        ).text
    }
}
