import CRDKafka

/// The consumer's membership, for ``Producer/sendOffsets(_:_:deadline:)``. It belongs to the generation that consumed
/// the records: take it after each assignment, drop it at the revocation (docs/kafka.md 7).
public struct GroupMetadata: ~Copyable {
    let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        rd_kafka_consumer_group_metadata_destroy(pointer)
    }
}
