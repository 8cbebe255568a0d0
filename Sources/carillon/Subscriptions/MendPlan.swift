/// What `carillon subscriptions mend` would write.
struct MendPlan: Report {
    /// The keys that need something.
    let states: [KeyState]
    /// The records in wrong partitions that have not been ended.
    let misplaced: Int
    /// Subscriptions and unsubscriptions that are written to the right partition.
    let subscribes: Int
    let unsubscribes: Int
    /// By wrong partition, its misplaced records.
    let partitions: [Int32: Int]

    init(_ states: [KeyState]) {
        self.states = states.filter { $0.writes.home != nil || !$0.writes.ends.isEmpty }
        let homes = self.states.compactMap(\.writes.home)
        subscribes = homes.count { $0.value != nil }
        unsubscribes = homes.count - subscribes
        let strays = self.states.flatMap(\.misplaced)
        misplaced = strays.count
        partitions = Dictionary(grouping: strays, by: \.partition).mapValues(\.count)
    }

    var isEmpty: Bool { states.isEmpty }

    private enum CodingKeys: CodingKey { case misplaced, subscribes, unsubscribes, onlyEnded, partitions }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(misplaced, forKey: .misplaced)
        try members.encode(subscribes, forKey: .subscribes)
        try members.encode(unsubscribes, forKey: .unsubscribes)
        try members.encode(onlyEnded, forKey: .onlyEnded)
        try members.encode(
            Dictionary(uniqueKeysWithValues: partitions.map { ("\($0.key)", $0.value) }), forKey: .partitions)
    }

    /// Keys about which the right partition already has the newest word.
    private var onlyEnded: Int { states.count - subscribes - unsubscribes }

    var rows: [Row] {
        guard !isEmpty else { return [.line("Nothing is misplaced.")] }
        var rows: [Row] = []
        if !partitions.isEmpty {
            var table = TextTable(["PARTITION", "MISPLACED RECORDS"])
            for (partition, count) in partitions.sorted(by: { $0.key < $1.key }) {
                table.append(["\(partition)", ProgressLine.grouped(count)])
            }
            rows.append(.table(table))
        }
        let keys = ProgressLine.counted(states.count, "key")
        return rows + [
            .line("\(ProgressLine.counted(misplaced, "misplaced record")) of \(keys):"),
            .line("  \(ProgressLine.grouped(subscribes)) subscribed again, in the partition of the key"),
            .line("  \(ProgressLine.grouped(unsubscribes)) unsubscribed there"),
            .line("  \(ProgressLine.grouped(onlyEnded)) only ended: the partition of the key has newer or the same"),
        ]
    }
}

/// What was written.
struct MendOutcome: Report {
    private(set) var ended = 0
    private(set) var subscribed = 0
    private(set) var unsubscribed = 0

    mutating func add(_ plan: MendPlan) {
        ended += plan.misplaced
        subscribed += plan.subscribes
        unsubscribed += plan.unsubscribes
    }

    var rows: [Row] {
        [
            .line(
                "Ended \(ProgressLine.counted(ended, "misplaced record")); in the partitions of their keys "
                    + "\(ProgressLine.grouped(subscribed)) subscribed and \(ProgressLine.grouped(unsubscribed)) unsubscribed."
            )
        ]
    }
}
