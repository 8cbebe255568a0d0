import CarillonTesting
import Deliveries
import JSONReader
import Subscriptions

extension DeliveryRecord {
    /// An outcome of a dispatch record of partition 0.
    static func sample(
        _ outcome: DeliveryOutcome = .accepted, at offset: Int64, partition: Int32 = 0, messageID: String = "m",
        device: String = String(repeating: "0a", count: 32), platform: Platform = .fcm
    ) -> DeliveryRecord {
        DeliveryRecord(
            outcome, topic: "notifications.dispatch", partition: partition, offset: offset, messageID: messageID,
            device: device, platform: platform, lane: platform.rawValue, attempts: 1)
    }
}

extension DispatchTarget {
    static func sample(_ platform: Platform, messageID: String = "m") throws -> DispatchTarget {
        let memory = Memory()
        defer { withExtendedLifetime(memory) {} }
        let headers = ["platform": platform.rawValue, "message-id": messageID, "expires-at": "1700"]
        var reader = JSONReader()
        return try DispatchTarget(
            key: memory.copy(String(repeating: "0a", count: 32)), value: nil,
            header: { name in headers[name.description].map { memory.copy($0) } }, &reader)
    }
}
