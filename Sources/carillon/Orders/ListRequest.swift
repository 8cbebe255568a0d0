import Events
import Extraction
import Foundation

/// An ORDER_IDS_LISTED event: one notification for each id (docs/rules.md §5.3 row 9).
struct ListRequest: Encodable, Sendable {
    var eventID: String
    var time: Int64
    var place: String
    var ids: [String]
    var date: String?
    var start: String?
    var end: String?

    private enum CodingKeys: String, CodingKey {
        case eventID = "event_id"
        case eventType = "event_type"
        case time = "occurred_at"
        case place = "place_id"
        case ids = "order_ids"
        case date = "delivery_date"
        case start = "start_time"
        case end = "end_time"
    }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(eventID, forKey: .eventID)
        try members.encode("ORDER_IDS_LISTED", forKey: .eventType)
        try members.encode(TimeText.iso8601(time), forKey: .time)
        try members.encode(place, forKey: .place)
        try members.encode(ids, forKey: .ids)
        try members.encodeIfPresent(date, forKey: .date)
        try members.encodeIfPresent(start, forKey: .start)
        try members.encodeIfPresent(end, forKey: .end)
    }

    /// The record's value: one line of JSON.
    func encoded() throws -> String {
        String(try JSONOutput.text(self).dropLast())
    }

    /// The pipeline's verdict on it, by its present rules.
    ///
    /// - Returns: the number of notifications that it produces.
    /// - Throws: a ``CommandFailure`` with every value that would be dropped or changed.
    func check(_ rules: ExtractionRules, topic: String) throws -> Int {
        let (outcome, sources) = try extract(rules, topic: topic)
        guard case .notifications(let count) = outcome, let sources else {
            throw CommandFailure(.usage, Self.reason(outcome))
        }
        var problems: [String] = []
        if let date, sources.date != .event { problems.append("--date \(date) is not allowed; it must be YYYY-MM-DD") }
        // Each bound by itself: if one bound of a slot is invalid, the other one still counts.
        for (flag, start, end) in [("--start", start, nil), ("--end", nil, end)] {
            guard let time = start ?? end else { continue }
            var alone = self
            alone.start = start
            alone.end = end
            if try alone.extract(rules, topic: topic).sources?.timeSlot != .event {
                problems.append("\(flag) \(time) is not allowed; it must be a time such as 14:00")
            }
        }
        guard problems.isEmpty else { throw CommandFailure(.usage, lines: problems) }
        return count
    }

    private func extract(
        _ rules: ExtractionRules, topic: String
    ) throws -> (outcome: ExtractionOutcome, sources: FieldSources?) {
        var extractor = Extractor(rules: rules)
        var batch = EventBatch(.orders, topic: topic)
        var history = NoHistory()
        let value = Array(try encoded().utf8)
        let outcome = value.withUnsafeBytes { value in
            batch.records.append(
                EventRecord(partition: 0, offset: 0, timestamp: WallTime(milliseconds: time), key: nil, value: value))
            return extractor.extract(0, in: &batch, history: &history)
        }
        return (outcome, batch.notifications.first?.fieldSources)
    }

    private static func reason(_ outcome: ExtractionOutcome) -> String {
        switch outcome {
        case .deadLetter(let letter): "the event would be a dead letter, \(letter.code.label): \(letter.message)"
        case .suppressed, .notifications: "--ids: there is no id in it"
        }
    }
}
