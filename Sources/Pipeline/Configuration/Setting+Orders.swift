import Foundation

extension Setting {
    /// How the state of orders is kept, and which timers follow from it.
    static let orders: [Setting] = [
        .choice(
            "schedule", \.isScheduled, default: .value("on"), ["on": true, "off": false],
            "`on`: slot starts and reminders are sent by the clock, and those from upstream are not (`scheduled_here`). `off`: the other way round."
        ),
        .duration(
            "schedule.tick", \.schedule.tick, default: "1s", .milliseconds(100) ... .seconds(60),
            "How often a worker looks whether a timer is due."),
        .duration(
            "schedule.max-lateness", \.schedule.maxLateness, default: "15m", .seconds(1) ... .days(1),
            "A timer that is later than this is not sent (`too_late`)."),
        .duration(
            "schedule.spread", \.schedule.spread, default: "0ms", .zero ... .seconds(120),
            "The timers of a place are delayed by up to this much, each place by its own share: providers ask senders to avoid the quarter-hours."
        ),
        .statuses(
            "schedule.unpicked-statuses", \.configuration.orders.unpickedStatuses, default: "pending,processing",
            "The statuses in which an order is still to be picked, and reminded of."),
        .statuses(
            "state.terminal-statuses", \.configuration.orders.terminalStatuses,
            default: "cancelled,failed,completed,collected", "The statuses that end an order and its timers."),
        .duration(
            "state.horizon", \.configuration.orders.horizon, default: "14d", .seconds(60) ... .days(365),
            "A field of an order expires this long after the record that set it. The topic has to keep twice as much."),
        .duration(
            "state.terminal-retention", \.configuration.orders.terminalRetention, default: "1d",
            .seconds(1) ... .days(365),
            "What is left of an order that has ended is kept for this long, so that a repeated event does not bring it back."
        ),
        .integer(
            "state.max-bytes", \.configuration.orders.maxBytes, default: .value("134217728"), 1 << 16...1 << 40,
            "What is remembered of a partition's orders, in bytes; an order counts as 480 and its id. Beyond it, the orders whose last event is the oldest are forgotten."
        ),
        .choice(
            "infer-status-changes", \.infersStatusChanges, default: .value("off"), ["on": true, "off": false],
            "Take an order without an event type for a status change, where its status differs from the one before."),
    ]

    private static func statuses(
        _ key: String, _ path: Path<[String]>, default value: String, _ summary: String
    ) -> Setting {
        let allowed = "statuses with commas between, such as \(value)"
        return Setting(key: key, defaultValue: .value(value), allowed: allowed, summary: summary) {
            text, draft throws(InvalidValue) in
            let words = text.split(separator: ",", omittingEmptySubsequences: false).map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            guard !words.isEmpty, !words.contains("") else { throw InvalidValue(allowed: allowed) }
            draft[keyPath: path] = words
        }
    }
}
