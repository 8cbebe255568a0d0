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

    package var topic: String
    package var from: WallTime
    package var to: WallTime?
    package private(set) var total: DeliverySummary.Tally
    /// The largest first.
    package private(set) var groups: [Group]
    /// Those of more kinds than are told apart.
    package private(set) var others: DeliverySummary.Tally?
    private var unreadable: Int

    package init(_ summary: DeliverySummary, topic: String, from: WallTime, to: WallTime?) {
        self.topic = topic
        self.from = from
        self.to = to
        total = summary.total
        groups = summary.groups.map(Group.init).sorted { left, right in
            left.tally.count == right.tally.count
                ? left.cells.lexicographicallyPrecedes(right.cells) : left.tally.count > right.tally.count
        }
        others = summary.others.count > 0 ? summary.others : nil
        unreadable = summary.unreadable
    }
}
