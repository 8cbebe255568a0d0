import StageSupport
import TestSupport

@testable import Notifications

/// A table on disk in a folder of its own, as processes open it one after the other.
struct TableTrial {
    let folder = TemporaryFolder()

    func topic(
        _ name: String = "notifications.subscriptions", start: [Int64] = [0], end: [Int64] = [1_000]
    ) -> SubscriptionTopic {
        SubscriptionTopic(name: name, startOffsets: start, endOffsets: end, deleteRetention: .seconds(2 * 86_400))
    }

    func open(_ topic: SubscriptionTopic, at time: WallTime = noon) throws -> (
        table: SubscriptionTable, opening: SubscriptionTableOpening
    ) {
        try SubscriptionTable.open(directory: folder.path, topic: topic, now: time)
    }

    /// A closed table with two devices, up to offset 17.
    func fill(_ topic: SubscriptionTopic, offsets: [Int64] = [17]) throws {
        let table = try open(topic).table
        try table.store(.fcm("a"), .fcm("b"))
        _ = try table.apply([], nextOffsets: offsets, at: noon)
        try table.close()
    }
}
