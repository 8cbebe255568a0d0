import Broadcasts
import NotificationPayload
import Pipeline

@testable import Notifications
@testable import carillon

/// 2025-07-07T08:02:17Z.
let publication: WallTime = 1_751_875_337_000

extension BroadcastNotification {
    /// A display broadcast in English and Hindi that is valid for an hour.
    static func sample(id: String = "1235", message: String = "msg-1", at time: WallTime = publication) -> Self {
        let texts = ["en", "hi"].map { Broadcast.Text(language: $0, title: "t", message: "m") }
        return BroadcastNotification(
            notificationID: id, messageID: message, audience: "channel/General", channel: nil,
            publishedAt: time, expiry: .lifetime(milliseconds: 3_600_000),
            content: .display(.init(kind: .downtime, isCancellable: true, texts: texts)))
    }
}

extension BroadcastLog {
    /// The sample broadcast at an offset, written a second after it was published.
    static func entry(at offset: Int64 = 12) -> Entry {
        Entry(offset: offset, time: publication + 1_000, id: "1235", content: .published(.sample()), end: nil)
    }

    mutating func take(_ id: String, at offset: Int64, _ content: Content? = nil) {
        let record = BroadcastRecord(offset: offset, timestamp: publication + offset, key: Array(id.utf8), value: [])
        take(record, content ?? .published(.sample(id: id)))
    }
}

extension BroadcastJournalEntry {
    /// An entry of the group at so many milliseconds after the sample was published.
    static func of(_ passes: [Slice] = [], clock: Int64 = 0, group: String = "carillon-broadcasts") -> Self {
        var entry = BroadcastJournalEntry(
            group: group, cluster: nil, dispatch: "notifications.dispatch.broadcasts", rules: "0f")
        entry.clock = publication + clock
        entry.passes = passes
        return entry
    }
}

extension BroadcastJournalEntry.Slice {
    static func of(
        _ partition: Int32, broadcast: Int64 = 12, devices: Int? = nil, sent: Int = 0, stale: Int = 0, end: End? = nil
    ) -> Self {
        .init(
            subject: .init(partition: partition, broadcast: broadcast, notificationID: "1235", messageID: "msg-1"),
            joinedBelow: 100, devices: devices, sent: sent, stale: stale, end: end)
    }
}

extension BroadcastProgress {
    /// Of the sample at offset 12, with four partitions of the subscriptions.
    static func sample(
        committed: [Int32: BroadcastOffset] = [:], _ entries: [BroadcastJournalEntry] = []
    ) -> BroadcastProgress {
        var progress = BroadcastProgress(
            offset: 12, group: "carillon-broadcasts", partitions: 4, committed: committed)
        for entry in entries { progress.note(entry) }
        return progress
    }
}

extension BroadcastOffset {
    static func at(broadcast: Int64, isUnderWay: Bool = false) -> BroadcastOffset {
        BroadcastOffset(
            offset: 100, partitions: 4, time: publication, broadcast: broadcast,
            pass: isUnderWay ? .init(joinedBelow: 100, key: nil) : nil)
    }
}
