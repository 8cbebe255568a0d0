import Extraction
import StateStore

extension SubscriptionTable {
    /// Opens the table in a folder, or makes one.
    ///
    /// Wipes a table that cannot be trusted, belongs to another topic, lies outside it or is too old, and says so
    /// (design §7, kafka-rules 18). Throws where a person must decide: the number of partitions changed, so that keys have
    /// moved, or the folder cannot be used. The caller holds the lock that keeps other processes out.
    /// - Parameter now: the clock.
    package static func open(
        directory: String, topic: SubscriptionTopic, now: EventTime
    ) throws(SubscriptionTableError) -> (table: SubscriptionTable, opening: SubscriptionTableOpening) {
        do throws(StoreError) {
            let (store, opening) = try DiskStore.open(directory)
            let table = try resume(store, opening, topic, now)
            switch table {
            case .resumed(let offsets, let opening):
                return (SubscriptionTable(store: store, topic: topic.name, offsets: offsets), opening)
            case .refused(let error):
                try store.close()
                throw StoreError(.system, error)
            case .tooOld(let reason):
                try store.close()
                try DiskStore.wipe(directory)
                let fresh = try DiskStore.open(directory).store
                return (
                    SubscriptionTable(store: fresh, topic: topic.name, offsets: topic.startOffsets),
                    .rebuilt(reason: reason)
                )
            }
        } catch {
            throw SubscriptionTableError(error)
        }
    }

    /// Deletes the table in a folder. The next start fills it again from the topic.
    public static func wipe(directory: String) throws(SubscriptionTableError) {
        do throws(StoreError) {
            try DiskStore.wipe(directory)
        } catch {
            throw SubscriptionTableError(error)
        }
    }

    private enum Judgement {
        case resumed([Int64], SubscriptionTableOpening)
        case tooOld(reason: String)
        case refused(String)
    }

    private static func resume(
        _ store: DiskStore, _ opening: StoreOpening, _ topic: SubscriptionTopic, _ now: EventTime
    ) throws(StoreError) -> Judgement {
        let reader = try store.makeReader()
        try reader.begin()
        guard let bytes = try reader.checkpoint() else {
            if case .wiped(let reason) = opening {
                return .resumed(topic.startOffsets, .rebuilt(reason: reason))
            }
            return .resumed(topic.startOffsets, .created)
        }
        guard let checkpoint = TableCheckpoint(bytes) else {
            return .tooOld(reason: "another version wrote it")
        }
        if let judgement = judge(checkpoint, topic, now) {
            return judgement
        }
        let devices = try reader.count()
        return .resumed(
            checkpoint.offsets, opening == .checked ? .checked(devices: devices) : .resumed(devices: devices))
    }

    /// Whether the log can still bring this checkpoint up to date; nil if it can.
    private static func judge(_ checkpoint: TableCheckpoint, _ topic: SubscriptionTopic, _ now: EventTime) -> Judgement?
    {
        guard checkpoint.topic == topic.name else {
            return .tooOld(reason: "it belongs to the topic \(checkpoint.topic), not \(topic.name)")
        }
        let partitions = topic.startOffsets.count
        guard checkpoint.offsets.count == partitions else {
            return .refused(
                "\(topic.name) had \(checkpoint.offsets.count) partitions and now has \(partitions): keys have moved,"
                    + " and an unsubscription may be in another partition than its subscription; copy the records into a"
                    + " new topic")
        }
        for (partition, offset) in checkpoint.offsets.enumerated() {
            let allowed = (topic.startOffsets[partition], topic.endOffsets[partition])
            if offset < allowed.0 || offset > allowed.1 {
                return .tooOld(
                    reason: "its offset \(offset) of partition \(partition) is outside the topic"
                        + " (\(allowed.0) to \(allowed.1))")
            }
        }
        let age = Duration.milliseconds(now.milliseconds - checkpoint.time.milliseconds)
        // A clock that was set back by that much says just as little about what was missed.
        if max(age, .zero - age) > topic.deleteRetention / 2 {
            return .tooOld(
                reason: "it is \(age.components.seconds) s old, and after half of delete.retention.ms"
                    + " (\(topic.deleteRetention.components.seconds) s) it may have missed unsubscriptions")
        }
        return nil
    }
}
