import DispatchRecords
import Events
import Foundation
import KafkaClient
import OrderState
import Pipeline

/// Records of the pipeline's topics as lines for a person. Tokens are never shown.
enum DemoLines {
    /// `push  fcm  device 3fa94c11  order_status_changed  order 742ba33c…  pending → processing  2025-07-07 14:00–16:00`
    static func push(_ record: ConsumerRecord) -> String {
        let headers = values(record.headers)
        let device = String(decoding: (record.key ?? []).prefix(8), as: UTF8.self)
        let data = payload(of: record)
        var parts = [
            "push", headers[DispatchHeader.platform.text] ?? "?", "device \(device)",
            (data["event_type"] ?? "?").replacingOccurrences(of: "event_", with: ""),
            "order \(data["visible_id"] ?? "") at place \((data["place_id"] ?? "").prefix(8))",
        ]
        if let new = data["new_status"] { parts.append("\(data["previous_status"] ?? "?") → \(new)") }
        parts.append("\(data["delivery_date"] ?? "?") \(data["start_time"] ?? "?")–\(data["end_time"] ?? "?")")
        return parts.joined(separator: "  ")
    }

    /// `dead letter  invalid_json  orders.events/2/5: the value ends in the middle`
    static func deadLetter(_ record: ConsumerRecord) -> String {
        let headers = values(record.headers)
        func error(_ name: String) -> String { headers["__connect.errors.\(name)"] ?? "?" }
        return "dead letter  \(headers["x-error-code"] ?? "?")  "
            + "\(error("topic"))/\(error("partition"))/\(error("offset")): \(error("exception.message"))"
    }

    private static func values(_ headers: [RecordHeader]) -> [String: String] {
        Dictionary(
            headers.map { ($0.name, String(decoding: $0.value ?? [], as: UTF8.self)) }, uniquingKeysWith: { $1 })
    }

    /// The fields that the app gets: FCM has them in `message.data.default`, APNs in `payload.default`.
    private static func payload(of record: ConsumerRecord) -> [String: String] {
        func object(_ data: Data) -> [String: Any]? { try? JSONSerialization.jsonObject(with: data) as? [String: Any] }
        let value = object(Data(record.value ?? [])) ?? [:]
        let message = (value["message"] as? [String: Any])?["data"] as? [String: Any]
        let text = (message ?? value["payload"] as? [String: Any])?["default"] as? String
        return text.flatMap { object(Data($0.utf8))?["data"] as? [String: String] } ?? [:]
    }
}

/// The closing lines of the demo.
enum DemoSummary {
    static func text(_ reading: PipelineMeter.Reading, seconds: Double) -> String {
        let counts = reading.counts
        var lines = [
            "\(counts.events) events gave \(counts.notifications) notifications and \(counts.dispatches) pushes; "
                + "dead-lettered: \(counts.deadLetters); in \(String(format: "%.2f", seconds)) s "
                + "(\(Int(Double(counts.events) / max(seconds, 0.001))) events/s)."
        ]
        let reasons = SuppressionReason.allCases.filter { counts.suppressed($0) > 0 }
        lines += reasons.map { "notified nobody: \(counts.suppressed($0)) × \($0.label)" }
        let drops = TimerDrop.allCases.filter { counts.dropped($0) > 0 && !$0.countsOrders }
        lines += drops.map { "timers not sent: \(counts.dropped($0)) × \($0.label)" }
        let codes = DeadLetter.Code.allCases.filter { counts.deadLetters($0) > 0 }
        lines += codes.map { "dead-lettered: \(counts.deadLetters($0)) × \($0.label)" }
        func sources(_ field: String, _ count: (FieldSource) -> Int) -> String {
            let found = FieldSource.allCases.filter { count($0) > 0 }.map { "\($0) \(count($0))" }
            return "\(field) from: \(found.joined(separator: ", "))"
        }
        lines.append(sources("time slot", counts.timeSlots))
        lines.append(sources("date", counts.dates))
        lines.append(sources("order id", counts.orderIDs))
        return lines.map { $0 + "\n" }.joined()
    }
}
