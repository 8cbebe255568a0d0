import KafkaClient
import Replay

/// The outcome of `carillon replay diff`.
struct DifferencesReport: Report {
    /// A record without a counterpart.
    struct Example: Encodable {
        var source: String
        var messageID: String?
        var device: String?
        var at: RecordPosition?

        init(_ example: DiffReport.Example, there: String) {
            source = example.source
            messageID = example.messageID.isEmpty ? nil : example.messageID
            device = example.key.isEmpty ? nil : example.key
            at = example.coordinates?.position(in: there)
        }
    }

    var input: ReplayInput
    var report: DiffReport
    /// Records that have another source.
    var foreign: Int
    /// The topic, or the other rules.
    var there: String

    private static let mostChanges = 3

    private enum CodingKeys: CodingKey { case foreign, missingExamples, extraExamples }

    func encode(to encoder: any Encoder) throws {
        try input.encode(to: encoder)
        try report.encode(to: encoder)
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(foreign, forKey: .foreign)
        try members.encode(examples(report.missingExamples), forKey: .missingExamples)
        try members.encode(examples(report.extraExamples), forKey: .extraExamples)
    }

    private func examples(_ examples: [DiffReport.Example]) -> [Example] {
        examples.map { Example($0, there: there) }
    }

    var rows: [Row] {
        let events = ProgressLine.grouped(Int(input.eventOffsets))
        var lines = [
            "\(events) offsets of \(input.done.count) partitions in \(ProgressLine.grouped(input.steps)) transactions: "
                + "\(ProgressLine.grouped(report.rendered)) records",
            "\(ProgressLine.grouped(report.equal)) are the same in \(there), byte for byte",
        ]
        for (id, count) in report.redrives.sorted(by: { $0.key < $1.key }) {
            lines.append("\(ProgressLine.grouped(count)) records were re-driven, by \(id)")
        }
        for (count, sentence) in sentences where count > 0 {
            lines.append("\(ProgressLine.grouped(count)) \(sentence)")
        }
        lines += report.fields.fields.map { "  " + Self.line($0, of: events) }
        lines += report.missingExamples.map { "  not there: \($0.source) \($0.messageID) \($0.key.prefix(12))…" }
        lines += examples(report.extraExamples).map { example in
            "  not rendered: \(example.source) " + (example.at.map { "at \($0)" } ?? example.messageID ?? "")
        }
        if report.isZero {
            lines.append(input.isApproximate ? "No difference, as far as can be known." : "No difference.")
        }
        return lines.map(Row.line)
    }

    private var sentences: [(Int, String)] {
        [
            (report.redriven, "are there because they were re-driven"),
            (report.unequal, "differ:"),
            (report.missing, "are rendered and are not in \(there)"),
            (
                report.refused,
                "are not in \(there) because the broker did not take them: their events are dead letters, record_refused or transaction_timeout"
            ),
            (report.extra, "are in \(there) and are not rendered"),
            (report.duplicates, "are in \(there) more than once"),
            (foreign, "records of \(there) have another source and were not looked at"),
        ]
    }

    private static func line(_ field: FieldDifferences.Field, of events: String) -> String {
        let changes = field.sortedChanges
        let shown = changes.prefix(mostChanges).map { each in
            "\(each.change.text) (\(ProgressLine.grouped(each.records)))"
        }
        let rest = changes.count > mostChanges ? ", …" : ""
        return "\(ProgressLine.grouped(field.events)) of \(events) events change \(field.name): "
            + shown.joined(separator: ", ") + rest
    }
}
