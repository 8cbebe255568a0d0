import Deliveries
import DispatchRecords
import Events
import Foundation
import JSONReader
import KafkaClient
import NotificationPayload
import OrderState
import Pipeline

/// Records of the pipeline's topics as lines for a person. Tokens are never shown.
enum DemoLines {
    /// `push  fcm  device 3fa94c11  order_status_changed  order 742ba33c…  pending → processing  2025-07-07 14:00–16:00`,
    /// `push  apns  device 5c775c46  message  "On its way: Tap to track it"  opens https://…`
    static func push(_ record: ConsumerRecord) -> String {
        let headers = values(record.headers)
        let device = String(decoding: (record.key ?? []).prefix(8), as: UTF8.self)
        let parts = ["push", headers[DispatchHeader.platform.text] ?? "?", "device \(device)"] + content(of: record)
        return parts.joined(separator: "  ")
    }

    /// What the device's app makes of it, as the library for apps reads it.
    private static func content(of record: ConsumerRecord) -> [String] {
        let value = PushValue(json: record.value ?? [])
        // FCM has the push in `message`, APNs in `payload`.
        let push = ReceivedNotification(json: (value?["message"] ?? value?["payload"])?.json ?? "")
        switch push {
        case .order(let order):
            let payload = order.payload
            var parts = [
                payload.eventType.replacingOccurrences(of: "event_", with: ""),
                "order \(payload.visibleID) at place \(payload.placeID.prefix(8))",
            ]
            if let change = payload.statusChange { parts.append("\(change.previous) → \(change.new)") }
            return parts + ["\(payload.deliveryDate) \(payload.startTime)–\(payload.endTime)"]
        case .app(let app): return ["app \(app.type)", text(app.title, app.body)] + link(of: push)
        case .message(let message): return ["message", text(message.title, message.body)] + link(of: push)
        case .broadcast(let broadcast): return ["broadcast \(broadcast.notificationID)"] + text(of: broadcast)
        case .unknown: return ["?"]
        }
    }

    private static func text(_ title: String?, _ body: String?) -> String {
        let shown = [title, body].compactMap { $0 }
        return shown.isEmpty ? "(silent)" : "\"\(shown.joined(separator: ": "))\""
    }

    /// Its first language, and which others the app can show.
    private static func text(of broadcast: Broadcast) -> [String] {
        switch broadcast.content {
        case .display(let display):
            let languages = display.texts.map(\.language).joined(separator: ", ")
            return [text(display.texts.first?.title, display.texts.first?.message), "in \(languages)"]
        case .nonDisplay(let nonDisplay): return [nonDisplay.kind.rawValue]
        case nil: return ["?"]
        }
    }

    /// What the app of the demo's shop opens.
    private static let links =
        (try? DeepLinks(
            templates: [
                "food": "https://shop.example/orders/{order_id}", "d2d": "https://shop.example/parcels/{order_id}",
            ])) ?? DeepLinks()

    private static func link(of push: ReceivedNotification) -> [String] {
        push.deepLink(links).map { ["opens \($0)"] } ?? []
    }

    /// `dead letter  invalid_json  orders.events/2/5: the value ends in the middle`
    static func deadLetter(_ record: ConsumerRecord) -> String {
        let headers = values(record.headers)
        func error(_ name: String) -> String { headers["__connect.errors.\(name)"] ?? "?" }
        return "dead letter  \(headers["x-error-code"] ?? "?")  "
            + "\(error("topic"))/\(error("partition"))/\(error("offset")): \(error("exception.message"))"
    }

    /// `outcome  fcm  device 3fa94c11  accepted  200  after 1 request`
    static func delivery(_ record: ConsumerRecord) -> String {
        var reader = JSONReader()
        let value = (record.value ?? []).withUnsafeBytes { bytes in
            (try? reader.parse(bytes)).flatMap { try? DeliveryRecord($0) }
        }
        guard let value else { return "outcome  ?" }
        let requests = value.attempts == 1 ? "1 request" : "\(value.attempts) requests"
        let parts: [String?] = [
            "outcome", value.platform.rawValue, "device \(value.device.prefix(8))", value.outcome.rawValue,
            value.status.map(String.init), value.reason, "after \(requests)",
        ]
        return parts.compactMap { $0 }.joined(separator: "  ")
    }

    private static func values(_ headers: [RecordHeader]) -> [String: String] {
        Dictionary(
            headers.map { ($0.name, String(decoding: $0.value ?? [], as: UTF8.self)) }, uniquingKeysWith: { $1 })
    }
}

/// The closing lines of the demo.
enum DemoSummary {
    /// - Parameter requests: how many of the records were requests.
    static func text(_ reading: PipelineMeter.Reading, requests: Int, seconds: Double) -> String {
        let counts = reading.counts
        let asked = requests == 0 ? "" : " and \(requests) requests"
        var lines = [
            "\(counts.events - requests) events\(asked) gave \(counts.notifications) notifications and \(counts.dispatches) pushes; "
                + "dead-lettered: \(counts.deadLetters); in \(String(format: "%.2f", seconds)) s "
                + "(\(Int(Double(counts.events) / max(seconds, 0.001))) records/s)."
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
