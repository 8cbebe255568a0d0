import Broadcasts
import Events
import Foundation
import JSONReader
import KafkaClient
import Pipeline
import Subscriptions

extension Demo {
    /// Sends a broadcast to two devices of everybody's channel, and to a third one that joins when it has been sent.
    ///
    /// - Parameter value: of a record of `topic.broadcasts`.
    /// - Returns: a line for each push.
    func broadcast(_ value: [UInt8]) async throws -> [String] {
        var configuration = configuration
        configuration.topics.broadcasts = "notifications.broadcasts"
        // A rebalance would make the mock forget what was committed.
        configuration.workers = 1
        let topics = configuration.topics
        try cluster.createTopic(topics.broadcasts, partitions: 1)
        try cluster.createTopic(topics.broadcastJournal, partitions: 1)
        try cluster.createTopic(topics.broadcastDispatch, partitions: Self.partitions)
        try write(Self.devices.dropLast().map(Self.record), to: topics.subscriptions)

        let service = BroadcastService(configuration: configuration, logger: logger)
        let running = Task { try await service.run() }
        try await wait("the sender of broadcasts to begin", for: running) { service.unready.isEmpty }
        try write([ProducerRecord(key: Self.notificationID(of: value), value: value)], to: topics.broadcasts)
        try await wait("the broadcast", for: running) { service.meter.reading.reached == Self.devices.count - 1 }
        try write(Self.devices.suffix(1).map(Self.record), to: topics.subscriptions)
        try await wait("the device that joined", for: running) { service.meter.reading.late == 1 }
        service.shutdown()
        try await running.value
        return try read(topics.broadcastDispatch, partitions: Self.partitions).map(DemoLines.push)
    }

    private static let devices = [
        Subscription(
            audience: "channel/General", token: "made-up-token-of-a-customer", platform: .fcm, app: "com.example.shop",
            locale: "en-GB"),
        Subscription(
            audience: "channel/General", token: String(repeating: "0a1b2c3d", count: 8), platform: .apns,
            app: "com.example.shop", locale: "de-AT"),
        Subscription(
            audience: "channel/General", token: "made-up-token-of-a-new-customer", platform: .fcm,
            app: "com.example.shop", locale: "en-GB"),
    ]

    private static func record(_ subscription: Subscription) -> ProducerRecord {
        ProducerRecord(key: Array(subscription.key.utf8), value: subscription.encoded())
    }

    private static func notificationID(of value: [UInt8]) -> [UInt8]? {
        var reader = JSONReader()
        return value.withUnsafeBytes { bytes in
            (try? reader.parse(bytes))?.member("notificationid")?.string.map { Array($0.bytes) }
        }
    }
}
