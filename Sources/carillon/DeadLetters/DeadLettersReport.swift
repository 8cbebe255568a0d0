import KafkaClient
import Replay

/// The plan of `carillon replay dead-letters`.
struct DeadLettersReport: Report {
    var id: String
    var plan: DeadLetterPlan
    var topics: PipelineConfiguration.Topics

    private enum CodingKeys: CodingKey { case id, byCode }

    func encode(to encoder: any Encoder) throws {
        try plan.encode(to: encoder)
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(id, forKey: .id)
        try members.encode(plan.byCode, forKey: .byCode)
    }

    var rows: [Row] {
        let (found, events) = (plan.deadLetters, ProgressLine.counted(plan.events, "event"))
        var rows = [
            Row.line(
                "\(ProgressLine.counted(found, "dead letter")) in \(topics.deadLetters) → \(events) to put back into "
                    + topics.putBackTargets), .line(""),
        ]
        if !plan.byTopic.isEmpty { rows += [.table(table), .line("")] }
        let types = plan.byType.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            .map { "\(ProgressLine.grouped($0.value)) \($0.key.trimmingPrefix("event_"))" }
        if !types.isEmpty { rows.append(.line("to put back: \(types.joined(separator: ", "))")) }
        rows += plan.left.rows("left", plan.stillDead, topics)
        if let first = plan.first { rows.append(.line("first: \(Self.line(first))")) }
        if let last = plan.last { rows.append(.line("last:  \(Self.line(last))")) }
        if plan.done > 0 {
            rows.append(.line("\(ProgressLine.grouped(plan.done)) of them \(id) has put back already"))
        }
        return rows
    }

    /// By code; where requests are read as well, by topic and code.
    private var table: TextTable {
        let hasRequests = !topics.requests.isEmpty
        var table = TextTable((hasRequests ? ["TOPIC"] : []) + ["CODE", "DEAD LETTERS", "PUT BACK"])
        let groups = hasRequests ? plan.byTopic.sorted { $0.key < $1.key } : [(key: "", value: plan.byCode)]
        for (topic, codes) in groups {
            for (code, number) in codes.sorted(by: { $0.key < $1.key }) {
                let counts = [number.deadLetters, number.putBack].map(ProgressLine.grouped)
                table.append((hasRequests ? [topic] : []) + [code] + counts)
            }
        }
        return table
    }

    private static func line(_ example: DeadLetterPlan.Example) -> String {
        "\(example.time) \(example.code)\(example.orderID.map { " of order \($0)" } ?? "") at \(example.at)"
    }
}

/// The result of putting dead letters back.
struct DeadLettersOutcome: Report {
    struct Refusal: Encodable {
        var at: RecordPosition
        var reason: String
    }

    var id: String
    /// The number of events that a person confirmed.
    var confirmed: Int
    /// The number of events put back, including earlier runs.
    var putBack: Int
    /// By reason, the planned events that were skipped when their turn came.
    var left: [DeadLetterLeft: Int]
    /// The first events that the broker rejected in this run.
    var refused: [Refusal]
    private var topics: PipelineConfiguration.Topics
    /// Whether it was this run that ended it.
    private var isNew: Bool

    private enum CodingKeys: CodingKey { case id, confirmed, putBack, left, refused }

    init(
        id: String, confirmed: Int, _ tally: ResendTally<DeadLetterCandidate, DeadLetterLeft>,
        topics: PipelineConfiguration.Topics, isNew: Bool
    ) {
        self.id = id
        self.confirmed = confirmed
        putBack = tally.sent
        left = tally.leftOut
        if tally.refused > 0 { left[.refused] = tally.refused }
        refused = tally.refusals.map {
            Refusal(at: $0.item.coordinates.position(in: topics.deadLetters), reason: $0.message)
        }
        self.topics = topics
        self.isNew = isNew
    }

    var rows: [Row] {
        if confirmed == 0 { return [.line("Nothing is to be put back.")] }
        let events = ProgressLine.counted(putBack, "event")
        let end =
            isNew
            ? "Put \(events) back into \(topics.putBackTargets), by \(id)."
            : "\(id) was finished before. Nothing was put back now."
        return [.line(end)] + left.rows("left when their turn came", [:], topics)
            + refused.map { .line("  \($0.at): \($0.reason)") }
    }
}

extension PipelineConfiguration.Topics {
    /// The topics that dead letters can be put back into.
    fileprivate var putBackTargets: String { sources.map(topic(of:)).joined(separator: " and ") }
}

extension [DeadLetterLeft: Int] {
    fileprivate func rows(
        _ title: String, _ stillDead: [String: Int], _ topics: PipelineConfiguration.Topics
    ) -> [Row] {
        DeadLetterLeft.allCases.compactMap { reason in
            self[reason].map { count in
                .line("\(title): \(ProgressLine.grouped(count)) \(reason.sentence(stillDead, topics))")
            }
        }
    }
}

extension DeadLetterLeft {
    /// For a person, after a number.
    fileprivate func sentence(_ stillDead: [String: Int], _ topics: PipelineConfiguration.Topics) -> String {
        switch self {
        case .stillDead:
            "would be dead letters again: "
                + stillDead.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        case .untried: "whose event alone does not show whether it would be accepted now (--code puts them back)"
        case .truncated: "that hold only the beginning of their value (--repaired)"
        case .otherTopic: "of timers, or of another topic than \(topics.putBackTargets)"
        case .foreign: "that no Carillon pipeline wrote"
        case .tooOld: "happened longer ago than --max-age"
        case .putBack: "were put back before"
        case .late: "whose order has newer events (--include-late)"
        case .moved:
            "whose key may have moved since partitions were added, and not by murmur2: its partition now is unknown"
        case .refused: "whose event the broker rejects"
        case .expired: "whose request has expired"
        }
    }
}
