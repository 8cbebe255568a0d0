/// The outcome of `carillon deliveries summary`.
package struct DeliverySummaryReport: Encodable, Sendable {
    package struct Group: Encodable, Sendable {
        package var group: DeliverySummary.Group
        package var tally: DeliverySummary.Tally

        private enum CodingKeys: CodingKey { case tally }

        package func encode(to encoder: any Encoder) throws {
            try group.encode(to: encoder)
            var members = encoder.container(keyedBy: CodingKeys.self)
            try members.encode(tally, forKey: .tally)
        }

        package var cells: [String] {
            [
                group.platform.rawValue, group.credential ?? "-", group.outcome.rawValue,
                group.status.map(String.init) ?? "-", group.reason ?? "-", group.app ?? "-",
            ]
        }
    }

    /// What phones of an app have said.
    package struct Receipts: Encodable, Sendable {
        package var platform: Platform
        package var app: String
        package var received: Int
        package var opened: Int
        package var dismissed: Int
    }

    package var topic: String
    package var from: WallTime
    package var to: WallTime?
    package private(set) var total: DeliverySummary.Tally
    /// The largest first.
    package private(set) var groups: [Group]
    /// Those of more kinds than are told apart.
    package private(set) var others: DeliverySummary.Tally?
    /// By platform and app; absent without `topic.receipts`.
    package private(set) var receipts: [Receipts]?
    /// Of more apps than are told apart.
    package private(set) var otherReceipts: Int?
    private var unreadable: Int

    package init(_ summary: DeliverySummary, _ topics: PipelineConfiguration.Topics, from: WallTime, to: WallTime?) {
        topic = topics.deliveries
        self.from = from
        self.to = to
        total = summary.total
        groups = summary.groups.map(Group.init).sorted { left, right in
            left.tally.count == right.tally.count
                ? left.cells.lexicographicallyPrecedes(right.cells) : left.tally.count > right.tally.count
        }
        others = summary.others.count > 0 ? summary.others : nil
        unreadable = summary.unreadable
        guard !topics.receipts.isEmpty, summary.receiptsUnknown == nil else { return }
        otherReceipts = summary.otherReceipts > 0 ? summary.otherReceipts : nil
        receipts = summary.receipts.map { group, counts in
            Receipts(
                platform: group.platform, app: group.app, received: counts[.received] ?? 0,
                opened: counts[.opened] ?? 0, dismissed: counts[.dismissed] ?? 0)
        }
        .sorted { ($0.app, $0.platform.rawValue) < ($1.app, $1.platform.rawValue) }
    }
}
