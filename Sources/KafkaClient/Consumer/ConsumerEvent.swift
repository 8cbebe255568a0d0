/// What the control queue delivers.
public enum ConsumerEvent: Sendable {
    /// The group gave these partitions. Nothing is read until the owner calls ``Consumer/assign(_:)``.
    case assign([TopicPartition])
    /// The group takes these partitions. librdkafka waits until the owner calls ``Consumer/unassign()``: commit before that, unless `isLost`, when
    /// somebody else may have them already: abort, and send nothing.
    case revoke([TopicPartition], isLost: Bool)
    case error(KafkaError)
    case statistics(ClientStatistics)
}
