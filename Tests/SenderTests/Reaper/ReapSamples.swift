import Digests
import Notifications

@testable import KafkaClient
@testable import Sender

/// Devices, their subscriptions and what providers answer about them, for the tests of the reaper.
enum ReapSamples {
    static func token(_ number: Int, _ platform: Platform) -> String {
        switch platform {
        case .fcm: "device-\(number)"
        case .apns: SHA256.hex(of: "device \(number)")
        }
    }

    static func hash(_ number: Int, _ platform: Platform = .fcm) -> String {
        SubscriptionKey.tokenHash(of: token(number, platform))
    }

    static func key(_ number: Int, _ audience: String = "place/1", _ platform: Platform = .fcm) -> [UInt8] {
        Array(SubscriptionKey(audience: audience, token: token(number, platform)).text.utf8)
    }

    /// A record of `notifications.subscriptions`.
    static func subscription(
        _ number: Int, _ audience: String = "place/1", _ platform: Platform = .fcm, app: String = "shop",
        _ environment: PushEnvironment = .production, registered: WallTime? = nil, seen: WallTime? = nil,
        written: WallTime?,
        partition: Int32 = 0, offset: Int64, headers: [RecordHeader] = []
    ) -> ConsumerRecord {
        let value = Subscription(
            audience: audience, token: token(number, platform), platform: platform, app: app, environment: environment,
            registeredAt: registered, lastSeenAt: seen)
        return ConsumerRecord(
            topic: "subscriptions", partition: partition, offset: Offset(offset),
            timestamp: written, key: Array(value.key.utf8), value: value.encoded(),
            headers: headers)
    }

    static func null(
        _ number: Int, _ audience: String = "place/1", partition: Int32 = 0, offset: Int64, _ mark: ReapMark? = nil
    ) -> ConsumerRecord {
        ConsumerRecord(
            topic: "subscriptions", partition: partition, offset: Offset(offset),
            timestamp: 0, key: key(number, audience), value: nil,
            headers: mark.map { [$0.recordHeader] } ?? [])
    }

    static func outcome(
        _ outcome: DeliveryOutcome, _ number: Int, _ platform: Platform = .fcm, app: String? = nil,
        _ environment: PushEnvironment? = nil, evidence: WallTime? = nil, credential: String? = "shop",
        status: Int? = 404, sent: WallTime? = nil
    ) -> DeliveryRecord {
        var record = DeliveryRecord(
            outcome, topic: "dispatch", partition: 0, offset: 0, messageID: "msg-0-0", device: hash(number, platform),
            platform: platform, attempts: 1)
        record.app = app
        record.environment = environment
        record.evidence = evidence
        record.credential = credential
        record.status = status
        record.lastSentAt = sent ?? evidence
        return record
    }
}
