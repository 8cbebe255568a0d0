import Deliveries
import Replay

/// Counted outcomes for a person, and as JSON.
struct DeliverySummaryText {
    var summary: DeliverySummary
    var topic: String
    /// Milliseconds since 1970.
    var from: Int64
    var to: Int64?

    /// The largest first.
    private var groups: [(group: DeliverySummary.Group, tally: DeliverySummary.Tally)] {
        summary.groups.map { ($0.key, $0.value) }.sorted { left, right in
            left.tally.count == right.tally.count
                ? Self.cells(left.group).lexicographicallyPrecedes(Self.cells(right.group))
                : left.tally.count > right.tally.count
        }
    }

    var text: String {
        let range = "from \(TimeText.iso8601(from))" + (to.map { " to \(TimeText.iso8601($0))" } ?? "")
        guard summary.total.count > 0 else { return "\(topic) has no outcomes \(range).\n" }
        var table = TextTable([
            "OUTCOMES", "REQUESTS", "P50", "P99", "LANE", "CREDENTIAL", "PLATFORM", "OUTCOME", "STATUS", "REASON",
            "APP",
        ])
        for (group, tally) in groups { table.append(Self.numbers(tally) + Self.cells(group)) }
        if summary.others.count > 0 {
            table.append(Self.numbers(summary.others) + ["of more kinds than \(DeliverySummary.mostGroups)"])
        }
        table.append(Self.numbers(summary.total) + ["all \(range)"])
        return table.text
    }

    private static func numbers(_ tally: DeliverySummary.Tally) -> [String] {
        [ProgressLine.grouped(tally.count), ProgressLine.grouped(tally.attempts)]
            + [0.5, 0.99].map { tally.time.quantile($0).map(time) ?? "-" }
    }

    private static func cells(_ group: DeliverySummary.Group) -> [String] {
        [
            group.lane, group.credential ?? "-", group.platform.rawValue, group.outcome.rawValue,
            group.status.map(String.init) ?? "-", group.reason ?? "-", group.app ?? "-",
        ]
    }

    /// `12 ms`, `4.2 s`, `15m00s`.
    static func time(_ milliseconds: Int64) -> String {
        if milliseconds < 1_000 { return "\(milliseconds) ms" }
        if milliseconds < 60_000 { return "\(milliseconds / 1_000).\(milliseconds % 1_000 / 100) s" }
        return ProgressLine.time(Double(milliseconds) / 1_000)
    }

    // MARK: JSON

    struct Document: Encodable {
        struct Tally: Encodable {
            var outcomes: Int
            var requests: Int
            /// Of those with a request.
            var p50Ms: Int64?
            var p99Ms: Int64?

            init(_ tally: DeliverySummary.Tally) {
                outcomes = tally.count
                requests = tally.attempts
                p50Ms = tally.time.quantile(0.5)
                p99Ms = tally.time.quantile(0.99)
            }
        }

        struct Group: Encodable {
            var lane: String
            var credential: String?
            var platform: String
            var app: String?
            var outcome: String
            var status: Int?
            var reason: String?
            var tally: Tally
        }

        var topic: String
        var from: String
        var to: String?
        var total: Tally
        var groups: [Group]
        /// Those of more kinds than are told apart.
        var others: Tally?
        var unreadable: Int
    }

    var document: Document {
        Document(
            topic: topic, from: TimeText.iso8601(from), to: to.map(TimeText.iso8601), total: .init(summary.total),
            groups: groups.map { group, tally in
                .init(
                    lane: group.lane, credential: group.credential, platform: group.platform.rawValue, app: group.app,
                    outcome: group.outcome.rawValue, status: group.status, reason: group.reason, tally: .init(tally))
            },
            others: summary.others.count > 0 ? .init(summary.others) : nil, unreadable: summary.unreadable)
    }
}
