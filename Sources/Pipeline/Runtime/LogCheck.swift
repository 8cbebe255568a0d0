import KafkaClient
import Streaming

/// Checks whether the log is the one that a store was built from (ADR 30).
package enum LogCheck {
    /// Reads the newest offset of each partition's fingerprints that the log still has, and compares it; only where that
    /// decides nothing, the offsets from the oldest on. It reads a batch at a time, since the next one may be large beyond
    /// measure. Blocks for some round trips, and for about `timeout` at most.
    ///
    /// - Parameters:
    ///   - stored: by partition; one without fingerprints is ``LogJudgement/unknown``.
    ///   - starts: the first offset that each partition still has.
    ///   - ends: the last stable offset of each partition.
    ///   - settings: of the pipeline's clients. The reader joins no group and commits nothing.
    ///   - clients: who reads.
    /// - Returns: a judgement for every partition of `stored`.
    /// - Throws: `.timedOut` with `.retry` where the log could not be read in time; otherwise librdkafka's error.
    package static func judge(
        _ stored: [TopicPartition: RecentFingerprints], starts: [TopicPartition: Offset],
        ends: [TopicPartition: Offset], settings: Settings, by clients: any Clients = KafkaClients(),
        logger sink: @escaping ClientLog.Sink, timeout: Duration = .seconds(30)
    ) throws(KafkaError) -> [TopicPartition: LogJudgement] {
        let deadline = ContinuousClock.now + timeout
        var found: [TopicPartition: [RecordFingerprint]] = [:]
        var ranges: [TopicPartition: Range<Offset>] = [:]
        for (partition, fingerprints) in stored {
            ranges[partition] = range(of: fingerprints, start: starts[partition], end: ends[partition])
        }
        func judge(_ id: TopicPartition) -> LogJudgement { stored[id]?.judge(found[id] ?? []) ?? .unknown }
        func read(_ ranges: [TopicPartition: Range<Offset>]) throws(KafkaError) {
            guard !ranges.isEmpty else { return }
            var settings = settings
            // A response holds one batch. With queued.min.messages=1 as well, each partition would take a second (docs/kafka.md, "A full queue sleeps").
            settings["fetch.message.max.bytes"] = "1"
            settings["isolation.level"] = "read_committed"
            let read = try Self.read(ranges, by: clients, settings, sink) {
                .now < deadline
                    ? nil : .logNotRead("the records that a store came from could not be read within \(timeout)")
            }
            found.merge(read) { $1 }
        }
        try read(ranges.mapValues { Offset($0.upperBound.value - 1)..<$0.upperBound })
        try read(
            ranges.filter { judge($0.key) == .unknown && $0.value.lowerBound < Offset($0.value.upperBound.value - 1) })
        return Dictionary(uniqueKeysWithValues: stored.keys.map { ($0, judge($0)) })
    }

    /// The offsets to read; nil where the log has none of them.
    static func range(of stored: RecentFingerprints, start: Offset?, end: Offset?) -> Range<Offset>? {
        let offsets = stored.elements.map(\.offset)
        guard let oldest = offsets.min(), let newest = offsets.max(), let start, let end else { return nil }
        let (from, to) = (max(Offset(oldest), start), min(Offset(newest + 1), end))
        return from < to ? from..<to : nil
    }

    /// - Parameter failure: what ends the read after each batch, if anything.
    private static func read(
        _ ranges: [TopicPartition: Range<Offset>], by clients: any Clients, _ settings: Settings,
        _ sink: @escaping ClientLog.Sink, unless failure: () -> KafkaError?
    ) throws(KafkaError) -> [TopicPartition: [RecordFingerprint]] {
        var found: [TopicPartition: [RecordFingerprint]] = [:]
        do {
            try clients.read(
                from: ranges.mapValues(\.lowerBound), to: ranges.mapValues(\.upperBound), settings, sink
            ) { batch in
                if let failure = failure() { throw failure }
                for index in 0..<batch.count {
                    let record = batch[index]
                    let partition = TopicPartition(topic: record.topic, partition: record.partition)
                    guard ranges[partition]?.contains(Offset(record.offset)) == true else { continue }
                    found[partition, default: []].append(RecordFingerprint(record))
                }
            }
        } catch {
            throw error as? KafkaError ?? .logNotRead("\(error)")
        }
        return found
    }
}

extension RecordFingerprint {
    package init(_ record: RecordView) {
        self.init(offset: record.offset, timestamp: record.timestamp, key: record.key)
    }
}

extension LogJudgement {
    /// What is different, as the rest of a sentence about a store; nil where nothing is known to be.
    package func difference(in partition: TopicPartition) -> String? {
        switch self {
        case .same, .unknown: nil
        case .other(let found, let stored):
            "\(partition) has another record at offset \(stored.offset) (\(found.text)) than the one that was read there"
                + " (\(stored.text)): the topic was deleted and created again, or restored"
        }
    }
}

extension KafkaError {
    fileprivate static func logNotRead(_ why: String) -> KafkaError {
        KafkaError(kind: .timedOut, recovery: .retry, name: "", message: why, operation: "consume")
    }
}
