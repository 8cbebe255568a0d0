import KafkaClient
import Notifications

/// Kafka as the reaper needs it. Each call may be the last one of a process, and others write between any two.
package protocol ReapLog: AnyObject {
    /// What the reaper's group has committed, by partition of `notifications.deliveries`. Waits for an open transaction.
    func committed() throws -> [Int32: CommittedOffset]

    /// Reads `notifications.deliveries` to its end, from a time on or from earlier starts.
    ///
    /// - Parameters:
    ///   - starts: by partition; a missing one is read from its beginning.
    ///   - take: receives the records that are outcomes, in offset order of each partition, and whether they are below the
    ///     start.
    /// - Returns: by partition, the offset up to which it was read.
    func readDeliveries(
        from starts: [Int32: Int64], since time: WallTime,
        take: (_ record: DeliveryRecord, _ partition: Int32, _ offset: Int64, _ isBelow: Bool) -> Void
    ) throws -> [Int32: Int64]

    /// Reads `notifications.subscriptions` to its end, without misplaced records: those have no effect.
    ///
    /// - Parameter starts: by partition; a missing one is not read. Nil: everything, from the beginning.
    /// - Returns: by partition that was read, the offset up to which.
    func readSubscriptions(
        from starts: [Int32: Int64]?, _ filter: ReapFilter, take: (ConsumerRecord) -> Void
    ) throws -> [Int32: Int64]

    /// Waits until everything that has been written to `notifications.subscriptions` so far can be read.
    func settleSubscriptions() throws

    /// Fences the other reapers of the group, and ends what they have left open.
    func takeOver() throws

    /// Writes records to `notifications.subscriptions` and commits these offsets, in one transaction.
    ///
    /// - Throws: a ``KafkaError`` of the kind `.fenced` if another reaper has taken over. After any other error the
    ///   transaction may nevertheless have been committed.
    func commit(_ records: [ProducerRecord], _ offsets: [Int32: CommittedOffset]) throws
}

/// Which records of `notifications.subscriptions` are wanted.
package enum ReapFilter {
    case devices((DeviceHash) -> Bool)
    /// What reapers have written.
    case marked
    case keys(Set<[UInt8]>)
}
