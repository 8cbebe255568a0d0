/// What the control queue delivers.
public enum ConsumerEvent: Sendable {
    /// The group assigned these partitions. Nothing is fetched until the owner calls ``Consumer/assign(_:)``.
    case assign([TopicPartition])
    /// The group revokes these partitions. librdkafka waits until the owner calls ``Consumer/unassign()``: commit
    /// first. If `isLost`, another member may already own them: abort and send nothing.
    case revoke([TopicPartition], isLost: Bool)
    case error(KafkaError)
    case statistics(ClientStatistics)
}
