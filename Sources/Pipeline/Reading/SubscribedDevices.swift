import KafkaClient

/// The present subscriptions to some audiences, as a pipeline that has read the topic to its end has them.
package enum SubscribedDevices {
    /// More records of the audiences than may be read.
    package struct TooMany: Error {}

    /// Larger transactions of the table are faster, and take more memory.
    private static let flushCount = 20_000

    /// Reads the topic of subscriptions from its beginning to its present end.
    ///
    /// Records that are no subscriptions, or misplaced, are skipped, as in the pipeline. Memory grows with the devices of
    /// the audiences.
    ///
    /// - Parameters:
    ///   - most: of the audiences' records.
    ///   - isStopped: asked at each record; true ends it.
    ///   - progress: the number of records so far, and the fraction that was read.
    /// - Throws: ``TooMany``, ``ReadingStopped``, `KafkaError`.
    package static func read(
        _ audiences: [String], _ configuration: PipelineConfiguration, now: WallTime,
        logger sink: @escaping ClientLog.Sink, most: Int = .max, isStopped: () -> Bool = { false },
        progress: (Int, Double) -> Void = { _, _ in }
    ) throws -> SubscriptionTable {
        let table = SubscriptionTable.inMemory()
        let wanted = Set(audiences.map { Array($0.utf8) })
        var position = TablePosition.beginning(at: [0], time: now)
        position.isWhole = true
        var changes = SubscriptionChanges()
        var (count, found) = (0, 0)
        var fraction = 0.0
        try TopicReader.readAll(
            configuration.topics.subscriptions, settings: configuration.kafka, logger: sink
        ) { record, partitions in
            if isStopped() { throw ReadingStopped() }
            count += 1
            if count % 1_024 == 0 { progress(count, fraction) }
            guard let key = record.key, wanted.contains(audience(of: key)),
                record.partition == Murmur2.partition(of: key, count: Int32(partitions))
            else { return }
            found += 1
            guard found <= most else { throw TooMany() }
            key.withUnsafeBytes { key in
                withOptionalBytes(record.value) { value in
                    changes.append(SubscriptionRecord(partition: 0, offset: 0, key: key, value: value))
                }
            }
            if changes.count >= flushCount { _ = try table.apply(&changes, position) }
        } progress: {
            fraction = $0
            progress(count, $0)
        }
        _ = try table.apply(&changes, position)
        return table
    }

    /// What is before `|<SHA-256 of the token>`; empty if there is no room for that.
    private static func audience(of key: [UInt8]) -> [UInt8] { Array(key.dropLast(65)) }

    private static func withOptionalBytes(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) -> Void) {
        guard let bytes else { return body(nil) }
        bytes.withUnsafeBytes(body)
    }
}
