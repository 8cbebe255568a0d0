import Digests
import Foundation

/// What the fold of orders depends on besides the log: two checkpoints with equal stamps hold the same state at an
/// offset. The rendering of messages is not part of it.
package enum OrderFold {
    /// Increase it when the same events give a different state than before.
    static let version = 2

    package static func stamp(_ rules: ExtractionRules, _ orders: OrderRules) -> String {
        var parts = ["fold=\(version)", "schedule=\(orders.schedule != nil)"] + settings(rules, orders)
        parts += orders.terminalStatuses.map { "terminal=\($0)" }.sorted()
        parts += orders.unpickedStatuses.map { "unpicked=\($0)" }.sorted()
        parts += rules.placeTimeZones.map { "place=\($0.key):\($0.value)" }.sorted()
        return SHA256.hex(of: parts.joined(separator: "\u{1F}"), digits: 16)
    }

    /// The rules for reading an event, and for how long it is remembered.
    package static func settings(_ rules: ExtractionRules, _ orders: OrderRules) -> [String] {
        [
            "zones=\(TimeZone.timeZoneDataVersion)",
            "time-zone=\(rules.timeZone)",
            "on-missing-order-id=\(rules.onMissingOrderID.rawValue)",
            "infer-status-changes=\(rules.infersStatusChanges)",
            "horizon=\(orders.horizon.wholeMilliseconds)",
            "terminal-retention=\(orders.terminalRetention.wholeMilliseconds)",
            "max-bytes=\(orders.maxBytes)",
        ] + rules.audiences.description + rules.members.description + rules.types.description
    }
}
