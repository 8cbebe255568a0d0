import Pipeline
import Replay

/// The plan of `carillon replay dead-letters` for a person, and as JSON.
struct DeadLettersText {
    var plan: DeadLetterPlan
    var configuration: PipelineConfiguration
    var id: String

    var text: String {
        let topics = configuration.topics
        func count(_ number: Int) -> String { ProgressLine.grouped(number) }
        func count(_ number: Int, _ unit: String) -> String { "\(count(number)) \(unit)\(number == 1 ? "" : "s")" }
        var lines = [
            "\(count(plan.found, "dead letter")) in \(topics.deadLetters) → \(count(plan.events, "event")) to put back into "
                + Self.targets(topics), "",
        ]
        if !plan.byTopic.isEmpty { lines.append(table.text) }
        let types = plan.byType.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            .map { "\(count($0.value)) \($0.key.trimmingPrefix("event_"))" }
        if !types.isEmpty { lines.append("to put back: \(types.joined(separator: ", "))") }
        for reason in DeadLetterLeft.allCases {
            if let number = plan.left[reason] {
                lines.append("left: \(count(number)) \(Self.sentence(of: reason, plan.stillDead, configuration))")
            }
        }
        if let first = plan.first { lines.append("first: \(line(first))") }
        if let last = plan.last { lines.append("last:  \(line(last))") }
        if plan.done > 0 { lines.append("\(count(plan.done)) of them \(id) has put back already") }
        return lines.map { $0 + "\n" }.joined()
    }

    /// The topics that dead letters can be put back into.
    static func targets(_ topics: PipelineConfiguration.Topics) -> String {
        topics.sources.map(topics.topic(of:)).joined(separator: " and ")
    }

    /// By code; where requests are read as well, by topic and code.
    private var table: TextTable {
        let hasRequests = !configuration.topics.requests.isEmpty
        var table = TextTable((hasRequests ? ["TOPIC"] : []) + ["CODE", "DEAD LETTERS", "PUT BACK"])
        let groups = hasRequests ? plan.byTopic.sorted { $0.key < $1.key } : [(key: "", value: plan.byCode)]
        for (topic, codes) in groups {
            for (code, number) in codes.sorted(by: { $0.key < $1.key }) {
                let counts = [number.found, number.selected].map(ProgressLine.grouped)
                table.append((hasRequests ? [topic] : []) + [code] + counts)
            }
        }
        return table
    }

    /// For a person, after a number.
    static func sentence(
        of reason: DeadLetterLeft, _ stillDead: [String: Int], _ configuration: PipelineConfiguration
    ) -> String {
        switch reason {
        case .stillDead:
            "would be dead letters again: "
                + stillDead.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        case .untried: "whose event alone does not show whether it would be accepted now (--code puts them back)"
        case .truncated: "that hold only the beginning of their value (--repaired)"
        case .otherTopic: "of timers, or of another topic than \(targets(configuration.topics))"
        case .foreign: "that no Carillon pipeline wrote"
        case .tooOld: "happened longer ago than --max-age"
        case .putBack: "were put back before"
        case .late: "whose order has newer events (--include-late)"
        case .moved:
            "whose key may have moved since partitions were added, and not by murmur2: its partition now is unknown"
        case .refused: "whose event the broker rejects"
        case .expired: "whose request has expired"
        case .passed: "that this run already skipped"
        }
    }

    private func line(_ example: DeadLetterPlan.Example) -> String {
        "\(TimeText.iso8601(example.time)) \(example.code)\(example.order.map { " of order \($0)" } ?? "")"
            + " at \(configuration.topics.deadLetters)/\(example.place.partition)/\(example.place.offset)"
    }

    // MARK: JSON

    struct Document: Encodable {
        struct Count: Encodable {
            var deadLetters: Int
            var putBack: Int
        }

        struct Example: Encodable {
            var time: String
            var code: String
            var orderID: String?
            var at: String
        }

        var id: String
        var deadLetters: Int
        var events: Int
        var done: Int
        var byCode: [String: Count]
        /// By topic, then by code.
        var byTopic: [String: [String: Count]]
        var byType: [String: Int]
        var left: [String: Int]
        var stillDead: [String: Int]
        var first: Example?
        var last: Example?
    }

    var document: Document {
        func example(_ example: DeadLetterPlan.Example) -> Document.Example {
            Document.Example(
                time: TimeText.iso8601(example.time), code: example.code, orderID: example.order,
                at: "\(configuration.topics.deadLetters)/\(example.place.partition)/\(example.place.offset)")
        }
        func counts(_ codes: [String: DeadLetterPlan.Count]) -> [String: Document.Count] {
            codes.mapValues { .init(deadLetters: $0.found, putBack: $0.selected) }
        }
        return Document(
            id: id, deadLetters: plan.found, events: plan.events, done: plan.done,
            byCode: counts(plan.byCode), byTopic: plan.byTopic.mapValues(counts), byType: plan.byType,
            left: Dictionary(uniqueKeysWithValues: plan.left.map { ($0.key.rawValue, $0.value) }),
            stillDead: plan.stillDead, first: plan.first.map(example), last: plan.last.map(example))
    }
}
