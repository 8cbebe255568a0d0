import Digests
import Notifications

@testable import KafkaClient
@testable import Sender

/// Devices and what providers answer about them, for the tests of the reaper.
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
        record.reason = evidence.map { _ in "UNREGISTERED" }
        record.credential = credential
        record.status = status
        record.lastSentAt = sent ?? evidence
        return record
    }
}
