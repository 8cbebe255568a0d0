import Replay

/// The outcome of `carillon replay diff` for a person, and as JSON.
struct DiffText {
    var input: ReplayInput
    var report: DiffReport
    var foreign: Int
    var there: String

    private static let mostChanges = 3

    var text: String {
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
        lines += report.extraExamples.map { example in
            "  not rendered: \(example.source)"
                + (example.place.map { " at \(there)/\($0.partition)/\($0.offset)" } ?? " \(example.messageID)")
        }
        if report.isZero {
            lines.append(input.isApproximate ? "No difference, as far as can be known." : "No difference.")
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private var sentences: [(Int, String)] {
        [
            (report.redriven, "are there because they were re-driven"),
            (report.unequal, "differ:"),
            (report.missing, "are rendered and are not in \(there)"),
            (
                report.refused,
                "are not in \(there) because the broker refused them: their events are dead letters, record_refused"
            ),
            (report.extra, "are in \(there) and are not rendered"),
            (report.duplicates, "are in \(there) more than once"),
            (foreign, "records of \(there) have another source and were not looked at"),
        ]
    }

    private static func line(_ field: FieldDifferences.Field, of events: String) -> String {
        let changes = field.sortedChanges
        let shown = changes.prefix(mostChanges).map { "\($0.key.text) (\(ProgressLine.grouped($0.value)))" }
        let rest = changes.count > mostChanges ? ", …" : ""
        return "\(ProgressLine.grouped(field.events)) of \(events) events change \(field.name): "
            + shown.joined(separator: ", ") + rest
    }

    // MARK: JSON

    struct Document: Encodable {
        struct Field: Encodable {
            struct Change: Encodable {
                var then: String?
                var now: String?
                var records: Int
            }

            var name: String
            var events: Int
            var records: Int
            var changes: [Change]
        }

        struct Example: Encodable {
            var source: String
            var messageID: String?
            var device: String?
            var at: String?
        }

        var approximate: Bool
        var approximations: [String]
        var notes: [String]
        var transactions: Int
        var offsets: Int64
        var rendered: Int
        var equal: Int
        var redriven: Int
        /// By the id of the re-drive.
        var redrives: [String: Int]
        var unequal: Int
        var missing: Int
        var refused: Int
        var extra: Int
        var duplicates: Int
        var foreign: Int
        var fields: [Field]
        var missingExamples: [Example]
        var extraExamples: [Example]
    }

    var document: Document {
        Document(
            approximate: input.isApproximate, approximations: input.approximations, notes: input.notes,
            transactions: input.steps, offsets: input.eventOffsets, rendered: report.rendered, equal: report.equal,
            redriven: report.redriven, redrives: report.redrives, unequal: report.unequal, missing: report.missing,
            refused: report.refused, extra: report.extra, duplicates: report.duplicates,
            foreign: foreign,
            fields: report.fields.fields.map { field in
                Document.Field(
                    name: field.name, events: field.events, records: field.records,
                    changes: field.sortedChanges.prefix(20).map {
                        .init(then: $0.key.then, now: $0.key.now, records: $0.value)
                    })
            },
            missingExamples: report.missingExamples.map(example), extraExamples: report.extraExamples.map(example))
    }

    private func example(_ example: DiffReport.Example) -> Document.Example {
        Document.Example(
            source: example.source, messageID: example.messageID.isEmpty ? nil : example.messageID,
            device: example.key.isEmpty ? nil : example.key,
            at: example.place.map { "\(there)/\($0.partition)/\($0.offset)" })
    }
}

extension FieldDifferences.Field {
    /// Most frequent first.
    fileprivate var sortedChanges: [(key: FieldDifferences.Change, value: Int)] {
        changes.sorted { ($1.value, $0.key.text) < ($0.value, $1.key.text) }
    }
}

extension FieldDifferences.Change {
    fileprivate var text: String { "\(then ?? "nothing") → \(now ?? "nothing")" }
}
