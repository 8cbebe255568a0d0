import JSONReader
import KafkaClient
import NotificationPayload
import Notifications

/// Records of the pipeline's topics as lines for a person. Tokens are never shown.
enum DemoLines {
    /// `push  fcm  device 3fa94c11  shows "New order A-17: Wanted from 14:00 to 16:00."  msg-1751875337000-tap195iux`
    static func push(_ record: ConsumerRecord) -> String {
        let device = String(decoding: (record.key ?? []).prefix(8), as: UTF8.self)
        let value = PushValue(json: record.value ?? [])
        // FCM has the push in `message`, APNs in `payload`.
        let push = ReceivedNotification(json: (value?["message"] ?? value?["payload"])?.json ?? "")
        let parts: [String?] = [
            "push", values(record.headers)[DispatchHeader.platform.text] ?? "?", "device \(device)",
            PushText.text(push), push.messageID,
        ]
        return parts.compactMap { $0 }.joined(separator: "  ")
    }

    /// `dead letter  invalid_json  orders.events/2/5: the value ends in the middle`
    static func deadLetter(_ record: ConsumerRecord) -> String {
        let headers = values(record.headers)
        func error(_ name: String) -> String { headers["__connect.errors.\(name)"] ?? "?" }
        return "dead letter  \(headers["x-error-code"] ?? "?")  "
            + "\(error("topic"))/\(error("partition"))/\(error("offset")): \(error("exception.message"))"
    }

    /// What became of a push; nil if the record does not say.
    static func outcome(_ record: ConsumerRecord) -> DeliveryRecord? {
        var reader = JSONReader()
        return (record.value ?? []).withUnsafeBytes { bytes in
            (try? reader.parse(bytes)).flatMap { try? DeliveryRecord($0) }
        }
    }

    /// `outcome  fcm  device 3fa94c11  accepted  200  after 1 request`
    static func text(_ outcome: DeliveryRecord) -> String {
        let requests = outcome.attempts == 1 ? "1 request" : "\(outcome.attempts) requests"
        let parts: [String?] = [
            "outcome", outcome.platform.rawValue, "device \(outcome.device.prefix(8))", outcome.outcome.rawValue,
            outcome.status.map(String.init), outcome.reason, "after \(requests)",
        ]
        return parts.compactMap { $0 }.joined(separator: "  ")
    }

    private static func values(_ headers: [RecordHeader]) -> [String: String] {
        Dictionary(
            headers.map { ($0.name, String(decoding: $0.value ?? [], as: UTF8.self)) }, uniquingKeysWith: { $1 })
    }
}
