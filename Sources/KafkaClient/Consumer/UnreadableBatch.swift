/// A batch of records that librdkafka cannot decompress, or not into `receive.message.max.bytes`: its bytes cannot be had.
///
/// A ``RecordBatch`` has a record without key, value and timestamp in its place, at its last offset.
public struct UnreadableBatch: Hashable, Sendable {
    public var partition: TopicPartition
    public var offsets: ClosedRange<Int64>
    /// What librdkafka says.
    public var reason: String

    /// The facility of the line that a consumer logs of it.
    public static let facility = "UNREADABLE"
}
