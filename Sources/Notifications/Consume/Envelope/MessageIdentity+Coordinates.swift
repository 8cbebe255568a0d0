extension MessageIdentity {
    /// Begins with the coordinates of the original record, for one that has no id of its own (docs/rules.md §6).
    mutating func begin(
        tag: StaticString, coordinatesOf record: Int, in batch: borrowing EventBatch, attributes: RecordHeaders
    ) {
        begin(tag: tag, isOwn: false)
        if let original = attributes.original {
            append(original.topic)
            append(original.partition)
            append(original.offset)
        } else {
            var topic = batch.topic
            topic.withUTF8 { append(UnsafeRawBufferPointer($0)) }
            append(Int64(batch.records[record].partition))
            append(batch.records[record].offset)
        }
    }
}
