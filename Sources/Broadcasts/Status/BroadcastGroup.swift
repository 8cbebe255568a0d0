import KafkaClient
import Pipeline

/// What the group of `carillon broadcasts` has committed of the subscriptions.
package struct BroadcastGroup {
    /// Why the journal cannot be read, and what a person does.
    package struct Refusal: Error, CustomStringConvertible {
        package var description: String

        fileprivate init(_ description: String) {
            self.description = description
        }
    }

    package var name: String
    /// Of the subscriptions.
    package var partitions: Int
    package var committed: [Int32: BroadcastOffset]

    package init(name: String, partitions: Int, committed: [Int32: BroadcastOffset]) {
        (self.name, self.partitions, self.committed) = (name, partitions, committed)
    }

    package static func name(of configuration: PipelineConfiguration) -> String {
        BroadcastContext.group(of: configuration)
    }

    /// - Parameters:
    ///   - timeout: of each question to the broker.
    ///   - patience: how long a transaction of the group may keep its offsets open; nil: as long as it can.
    package static func read(
        _ configuration: PipelineConfiguration, logger sink: @escaping ClientLog.Sink,
        timeout: Duration = .seconds(30), patience: Duration? = nil
    ) throws(KafkaError) -> BroadcastGroup {
        let name = name(of: configuration)
        let patience = patience ?? configuration.transactionTimeout + .seconds(10)
        var consumer = try Consumer(assigning: configuration.kafka, group: name, logger: sink)
        return try consumer.explaining { consumer throws(KafkaError) in
            let partitions = try consumer.partitions(of: configuration.topics.subscriptions, timeout: timeout)
            var group = BroadcastGroup(name: name, partitions: partitions.count, committed: [:])
            for (partition, committed) in try consumer.committedWhenStable(partitions, timeout: patience) {
                group.committed[partition.partition] = BroadcastOffset(
                    offset: committed.offset.value, metadata: committed.metadata)
            }
            return group
        }
    }

    package func progress(of entry: BroadcastLog.Entry) -> BroadcastProgress {
        BroadcastProgress(offset: entry.offset, group: name, partitions: partitions, committed: committed)
    }

    /// The clocks of two brokers may differ by so much, in milliseconds.
    private static let clockDifference: Int64 = 60_000

    /// Reads the journal of broadcasts. Skips records that are no entries.
    ///
    /// - Parameters:
    ///   - time: entries that the broker appended before are not read; nil: all are.
    ///   - timeout: of each question to the broker.
    ///   - isStopped: asked between two batches; true ends it.
    ///   - progress: the number of records so far, and the fraction that was read.
    /// - Throws: ``Refusal`` for an entry of another version; `ReadingStopped`, `KafkaError`.
    package static func readJournal(
        _ configuration: PipelineConfiguration, since time: WallTime?, logger sink: @escaping ClientLog.Sink,
        timeout: Duration = .seconds(30), isStopped: () -> Bool = { false },
        take: (BroadcastJournalEntry) -> Void, progress: (Int, Double) -> Void = { _, _ in }
    ) throws {
        let topic = configuration.topics.broadcastJournal
        var settings = configuration.kafka
        settings["auto.offset.reset"] = "error"
        var consumer = try Consumer(assigning: settings, logger: sink)
        let ranges = try consumer.explaining { consumer throws(KafkaError) in
            let bounds = try consumer.bounds(of: topic, timeout: timeout)
            guard let time else { return bounds }
            let partitions = bounds.keys.map { TopicPartition(topic: topic, partition: $0) }
            let starts = try consumer.offsets(at: time - clockDifference, of: partitions, timeout: timeout)
            return Dictionary(
                uniqueKeysWithValues: bounds.map { partition, range in
                    let start = starts[TopicPartition(topic: topic, partition: partition)]?.value ?? range.lowerBound
                    return (partition, range.clamped(to: start..<Int64.max))
                })
        }
        try TopicReader.read(ranges, of: topic, with: &consumer) { records, indices in
            if isStopped() { throw ReadingStopped() }
            for index in indices {
                do throws(JournalProblem) {
                    take(try BroadcastJournalEntry(json: records[index].value))
                } catch .anotherVersion {
                    throw Refusal(
                        "\(topic)/\(records[index].partition)/\(records[index].offset) was written by another version of carillon: "
                            + "use that version, or delete it with kafka-delete-records.sh")
                } catch {
                    // Somebody else's record.
                    continue
                }
            }
        } progress: {
            progress($0, $1)
        }
    }
}
