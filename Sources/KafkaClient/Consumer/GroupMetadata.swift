import CRDKafka

/// The consumer's membership, for ``Producer/sendOffsets(_:_:deadline:)``. It belongs to the generation that consumed
/// the records: take it after each assignment, drop it at the revocation (docs/kafka.md 7).
public struct GroupMetadata: ~Copyable {
    /// Nil for a simulated one.
    let pointer: OpaquePointer?
    /// Which simulated one it is.
    package let number: Int

    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
        number = 0
    }

    package init(simulated number: Int) {
        pointer = nil
        self.number = number
    }

    deinit {
        if let pointer { rd_kafka_consumer_group_metadata_destroy(pointer) }
    }
}
