import KafkaClient

extension SubscriptionRecord {
    /// The header of what `carillon subscriptions mend` and `unsubscribe` write for misplaced records. Its value is the
    /// time of the record that it stands for, in milliseconds since 1970.
    package static let mendedHeader = "mended"

    /// A record of notifications.subscriptions; says whether it is in the partition of its key: murmur2 of the whole key,
    /// modulo the topic's number of partitions (docs/adr/0017-murmur2-of-the-whole-key.md).
    ///
    /// A key that is none of a subscription is malformed wherever it is. Costs one hash of the key, and a look into the
    /// headers.
    package init(of records: borrowing RecordBatch, at index: Int, partitions: Int) {
        let record = records[index]
        self.init(partition: record.partition, offset: record.offset, key: record.key, value: record.value)
        // Somebody else's that the registrar has restored has the mark of what had overwritten it.
        if value != nil, records.header(Self.deadHeader, at: index) == nil {
            command = Self.command(records.header(Self.commandHeader, at: index))
        }
        guard let key, partition != Murmur2.partition(of: key, count: partitions), kind != nil else { return }
        partitioning = value == nil && records.header(Self.mendedHeader, at: index) != nil ? .ended : .misplaced
    }
}
