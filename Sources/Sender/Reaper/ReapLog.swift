import KafkaClient
import Notifications
import Registrar

/// Kafka as the reaper needs it. Each call may be the last one of a process, and other reapers work beside it.
package protocol ReapLog: AnyObject {
    /// What the reaper's group has committed, by partition of `notifications.deliveries`.
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

    /// Writes commands to `topic.commands`. After an error some may be there.
    func write(_ commands: [Command]) throws

    /// - Throws: after which it may nevertheless have been committed.
    func commit(_ offsets: [Int32: CommittedOffset]) throws
}
