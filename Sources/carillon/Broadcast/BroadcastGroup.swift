import Broadcasts
import KafkaClient
import Replay

/// What the group of `carillon broadcasts` has committed of the subscriptions.
struct BroadcastGroup {
    var name: String
    /// Of the subscriptions.
    var partitions: Int
    var committed: [Int32: BroadcastOffset]

    static func name(of configuration: PipelineConfiguration) -> String { "\(configuration.groupID)-broadcasts" }

    static func read(_ configuration: PipelineConfiguration) throws -> BroadcastGroup {
        let name = name(of: configuration)
        var consumer = try Consumer(assigning: configuration.kafka, group: name, logger: configuration.clientSink)
        let positions = try consumer.explaining { consumer throws(KafkaError) in
            try GroupPositions(
                of: configuration.topics.subscriptions, consumer,
                timeout: configuration.transactionTimeout + .seconds(10))
        }
        var group = BroadcastGroup(name: name, partitions: positions.partitions.count, committed: [:])
        for position in positions.partitions {
            guard let committed = position.committed else { continue }
            group.committed[position.id.partition] = BroadcastOffset(
                offset: committed.offset.value, metadata: committed.metadata)
        }
        return group
    }

    func progress(of entry: BroadcastLog.Entry) -> BroadcastProgress {
        BroadcastProgress(offset: entry.offset, group: name, partitions: partitions, committed: committed)
    }

    /// How far a broadcast has got, also by the journal since its record.
    func journaledProgress(
        of entry: BroadcastLog.Entry, _ configuration: PipelineConfiguration
    ) throws -> BroadcastProgress {
        var progress = progress(of: entry)
        try Self.readJournal(configuration, since: entry.time) { progress.note($0) }
        return progress
    }

    /// The clocks of two brokers may differ by so much, in milliseconds.
    private static let clockDifference: Int64 = 60_000

    /// Reads the journal of broadcasts, with progress on a terminal. Skips records that are no entries.
    ///
    /// - Parameter time: entries that the broker appended before are not read; nil: all are.
    /// - Throws: ``ReplayRefusal`` for an entry of another version.
    static func readJournal(
        _ configuration: PipelineConfiguration, since time: WallTime?, take: (BroadcastJournalEntry) -> Void
    ) throws {
        let topic = configuration.topics.broadcastJournal
        var log = try KafkaLog(configuration, logger: configuration.clientSink, isStopped: { false })
        let ranges = try log.range(of: topic, from: time.map { $0 - clockDifference })
        var line = ProgressLine(unit: "transactions")
        defer { line.clear() }
        try log.read(ranges, of: topic) { records, indices in
            for index in indices {
                do throws(JournalProblem) {
                    take(try BroadcastJournalEntry(json: records[index].value))
                } catch .anotherVersion {
                    throw ReplayRefusal(
                        "\(topic)/\(records[index].partition)/\(records[index].offset) was written by another version of carillon: "
                            + "use that version, or delete it with kafka-delete-records.sh")
                } catch {
                    // Somebody else's record.
                    continue
                }
            }
        } progress: {
            line.show($0, fraction: $1)
        }
    }
}
