import Pipeline
import Replay

/// What a check of the lanes has found, for a person, and as JSON.
struct LaneAuditText {
    /// Of each dispatch topic.
    var reports: [LaneAuditReport]
    var topics: PipelineConfiguration.Topics

    private static func lanes(_ report: LaneAuditReport) -> [(name: String, counts: LaneAuditReport.Counts)] {
        report.lanes.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    var isSound: Bool { reports.allSatisfy(\.isSound) }
    var lost: Int { reports.reduce(0) { $0 + $1.lost } }
    var repeated: Int { reports.reduce(0) { $0 + $1.repeated } }

    var text: String {
        let parts = reports.map { report in (reports.count > 1 ? "\(report.topic)\n" : "") + text(report) }
        return parts.joined(separator: "\n") + (isSound ? "No defect.\n" : "")
    }

    private func text(_ report: LaneAuditReport) -> String {
        var table = TextTable(["LANE", "WITH OUTCOME", "IN RETRY", "NOT FINISHED", "BEFORE ITS START", "LOST"])
        for (name, counts) in Self.lanes(report) {
            let numbers = [counts.ended, counts.waiting, counts.unfinished, counts.before, counts.lost]
            table.append([name] + numbers.map(ProgressLine.grouped))
        }
        var text = table.text
        for defect in report.defects {
            text += "\(place(defect, report)) of lane \(defect.lane), \(defect.messageID): "
            switch defect.kind {
            case .lost: text += "finished, without an outcome and without a retry\n"
            case .repeated: text += "a second outcome" + (again(defect).map { " at \($0)" } ?? "") + "\n"
            }
        }
        let others = report.lost + report.repeated - report.defects.count
        return text + (others > 0 ? "and \(ProgressLine.grouped(others)) more\n" : "")
    }

    /// What limits the result.
    var notes: [String] {
        var notes: [String] = []
        // Both checks read the same outcomes.
        for note in reports.flatMap({ self.notes($0) }) where !notes.contains(note) { notes.append(note) }
        return notes
    }

    private func notes(_ report: LaneAuditReport) -> [String] {
        var notes = report.idle.map { "lane \($0) has committed nothing of \(report.topic): nothing of it is judged" }
        for (partition, time) in report.judgedFrom.sorted(by: { $0.key < $1.key }) {
            notes.append(
                "\(topics.deliveries)/\(partition) no longer has its first outcomes: dispatch records are judged from "
                    + "\(TimeText.iso8601(time)) on")
        }
        func note(_ count: Int, _ text: String) {
            if count > 0 { notes.append("\(ProgressLine.grouped(count)) \(text)") }
        }
        note(report.foreign, "records of \(report.topic) belong to no lane: they lack a key or a header")
        note(report.unreadableOutcomes, "records of \(topics.deliveries) are no outcomes and were skipped")
        note(report.unreadableRetries, "records of the retry topics of \(report.topic) are no retries and were skipped")
        return notes
    }

    private func place(_ defect: LaneAuditReport.Defect, _ report: LaneAuditReport) -> String {
        "\(report.topic)/\(defect.place.partition)/\(defect.place.offset)"
    }

    private func again(_ defect: LaneAuditReport.Defect) -> String? {
        defect.again.map { "\(topics.deliveries)/\($0.partition)/\($0.offset)" }
    }

    // MARK: JSON

    struct Document: Encodable {
        struct Lane: Encodable {
            var lane: String
            /// The dispatch topic.
            var topic: String
            var withOutcome: Int
            var inRetry: Int
            var notFinished: Int
            var beforeItsStart: Int
            var lost: Int
        }

        struct Defect: Encodable {
            var kind: String
            var at: String
            var lane: String
            var messageID: String
            var secondOutcome: String?
        }

        var lanes: [Lane]
        var lost: Int
        var repeated: Int
        var defects: [Defect]
        var notes: [String]
    }

    var document: Document {
        Document(
            lanes: reports.flatMap { report in
                Self.lanes(report).map { name, counts in
                    .init(
                        lane: name, topic: report.topic, withOutcome: counts.ended, inRetry: counts.waiting,
                        notFinished: counts.unfinished, beforeItsStart: counts.before, lost: counts.lost)
                }
            },
            lost: lost, repeated: repeated,
            defects: reports.flatMap { report in
                report.defects.map { defect in
                    .init(
                        kind: defect.kind.rawValue, at: place(defect, report), lane: defect.lane,
                        messageID: defect.messageID, secondOutcome: again(defect))
                }
            },
            notes: notes)
    }
}
