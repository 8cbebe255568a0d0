import Notifications

extension SubscriptionTable {
    /// Applies subscriptions, as the follower of notifications.subscriptions does: a record each, of its first
    /// partition.
    package func subscribe(_ subscriptions: Subscription...) throws(SubscriptionTableError) {
        for subscription in subscriptions {
            try apply(key: Array(subscription.key.utf8), value: subscription.encoded())
        }
    }

    /// Applies the tombstone of a subscription.
    package func unsubscribe(_ subscription: Subscription) throws(SubscriptionTableError) {
        try apply(key: Array(subscription.key.utf8), value: nil)
    }

    /// Applies the next record of a partition.
    package func apply(
        key: [UInt8], value: [UInt8]?, partition: Int = 0, at time: WallTime = .epoch
    ) throws(SubscriptionTableError) {
        let memory = Memory()
        var offsets = appliedOffsets
        let record = SubscriptionRecord(
            partition: Int32(partition), offset: offsets[partition], key: memory.copy(key),
            value: value.map { memory.copy($0) })
        offsets[partition] += 1
        _ = try apply([record], nextOffsets: offsets, at: time)
        withExtendedLifetime(memory) {}
    }
}
