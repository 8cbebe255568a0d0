import StateStore

extension SubscriptionTable {
    /// Opens the table in a folder, or creates one.
    ///
    /// Wipes a table that is damaged, belongs to another topic, has offsets outside the topic, is too old or was not read
    /// to its topic's end, and reports this (docs/code.md §7, docs/kafka.md 18). Throws if a person must decide: the number of partitions
    /// changed, so that keys have moved, or the folder cannot be used. The caller holds the lock that keeps other
    /// processes out, and compares the records of ``position`` with the log.
    /// - Parameters:
    ///   - now: the clock, read before the topic's offsets were queried.
    ///   - forgivesUnclean: whether something else than damage explains unclean ends.
    package static func open(
        directory: String, topic: SubscriptionTopic, now: WallTime, forgivesUnclean: Bool = false
    ) throws(SubscriptionTableError) -> (table: SubscriptionTable, opening: SubscriptionTableOpening) {
        do throws(StoreError) {
            let (store, opening) = try DiskStore.open(directory, forgivesUnclean: forgivesUnclean)
            switch try resume(store, opening, topic, now) {
            case .resumed(let position, let opening):
                return (table(store, topic, position), opening)
            case .refused(let error):
                try store.close()
                throw StoreError(.system, error)
            case .unusable(let reason):
                try store.close()
                try DiskStore.wipe(directory)
                let fresh = try DiskStore.open(directory).store
                return (table(fresh, topic, .beginning(at: topic.startOffsets, time: now)), .rebuilt(reason: reason))
            }
        } catch {
            throw SubscriptionTableError(error)
        }
    }

    private static func table(
        _ store: DiskStore, _ topic: SubscriptionTopic, _ position: TablePosition
    ) -> SubscriptionTable {
        SubscriptionTable(store: store, topic: topic.name, cluster: topic.cluster, position: position)
    }

    private enum Judgement {
        case resumed(TablePosition, SubscriptionTableOpening)
        case unusable(reason: String)
        case refused(String)
    }

    private static func resume(
        _ store: DiskStore, _ opening: StoreOpening, _ topic: SubscriptionTopic, _ now: WallTime
    ) throws(StoreError) -> Judgement {
        let reader = try store.makeReader()
        try reader.begin()
        let devices = try reader.count()
        guard let bytes = try reader.checkpoint() else {
            guard devices == 0 else { return .unusable(reason: "it does not say of which topic it is") }
            let beginning = TablePosition.beginning(at: topic.startOffsets, time: now)
            switch opening {
            case .wiped(let reason): return .resumed(beginning, .rebuilt(reason: reason))
            case .created, .clean, .unclosed: return .resumed(beginning, .created)
            }
        }
        guard let checkpoint = TableCheckpoint(bytes) else {
            return .unusable(reason: "another version wrote it")
        }
        if let judgement = judge(checkpoint, topic, now) {
            return judgement
        }
        // Its devices are some of those that the topic had when it was read.
        guard checkpoint.position.isWhole else { return .unusable(reason: "it was not read to its topic's end") }
        switch opening {
        case .unclosed: return .resumed(checkpoint.position, .unclosed(devices: devices))
        case .created, .clean, .wiped: return .resumed(checkpoint.position, .resumed(devices: devices))
        }
    }

    /// Why the log can no longer bring this checkpoint up to date; nil if it can.
    private static func judge(_ checkpoint: TableCheckpoint, _ topic: SubscriptionTopic, _ now: WallTime) -> Judgement?
    {
        guard checkpoint.topic == topic.name else {
            return .unusable(reason: "it belongs to the topic \(checkpoint.topic), not \(topic.name)")
        }
        if let stored = checkpoint.cluster, let cluster = topic.cluster, stored != cluster {
            return .unusable(reason: "it was filled from the cluster \(stored), and this one is \(cluster)")
        }
        let position = checkpoint.position
        let partitions = topic.startOffsets.count
        guard position.offsets.count == partitions else {
            return .refused(topic.keysHaveMoved(from: position.offsets.count, to: partitions))
        }
        for (partition, offset) in position.offsets.enumerated() {
            let allowed = (topic.startOffsets[partition], topic.endOffsets[partition])
            if offset < allowed.0 || offset > allowed.1 {
                return .unusable(
                    reason: "its offset \(offset) of partition \(partition) is outside the topic"
                        + " (\(allowed.0) to \(allowed.1))")
            }
        }
        let age = Duration.milliseconds(now.milliseconds - position.time.milliseconds)
        // A clock set back by that much leaves just as unclear what was missed.
        if max(age, .zero - age) > topic.largestAge { return .unusable(reason: topic.isTooOld(age)) }
        return nil
    }
}

extension SubscriptionTopic {
    /// Why a table of this age is filled again.
    package func isTooOld(_ age: Duration) -> String {
        "it is \(age.components.seconds) s old, and after half of delete.retention.ms"
            + " (\(deleteRetention.components.seconds) s) it may have missed unsubscriptions"
    }

    /// Why no table can continue with a different number of partitions.
    package func keysHaveMoved(from before: Int, to now: Int) -> String {
        "\(name) had \(before) partitions and now has \(now): keys have moved,"
            + " and an unsubscription may be in another partition than its subscription; copy the records into a"
            + " new topic"
    }
}
