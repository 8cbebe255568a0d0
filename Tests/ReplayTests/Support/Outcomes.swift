import Notifications

extension DeliveryRecord {
    /// An outcome of a dispatch record of partition 0.
    static func sample(
        _ outcome: DeliveryOutcome = .accepted, at offset: Int64, partition: Int32 = 0, messageID: String = "m",
        device: String = String(repeating: "0a", count: 32), platform: Platform = .fcm
    ) -> DeliveryRecord {
        DeliveryRecord(
            outcome, topic: "notifications.dispatch", partition: partition, offset: offset, messageID: messageID,
            device: device, platform: platform, attempts: 1)
    }
}
