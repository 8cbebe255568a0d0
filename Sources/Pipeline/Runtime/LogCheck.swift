import KafkaClient

/// Checks whether the log is the one that a store was built from (ADR 30).
package enum LogCheck {
    /// Reads the offsets between the oldest and the newest fingerprint of each partition that the log still has, and
    /// compares them. Blocks for one or two round trips, and for `timeout` at most.
    ///
    /// - Parameters:
    ///   - stored: by partition; one without fingerprints is ``LogJudgement/unknown``.
    ///   - starts: the first offset that each partition still has.
    ///   - ends: the last stable offset of each partition.
    ///   - settings: of the pipeline's clients. The reader joins no group and commits nothing.
    /// - Returns: a judgement for every partition of `stored`.
    /// - Throws: `.timedOut` with `.retry` where the log could not be read in time; otherwise librdkafka's error.
    package static func judge(
        _ stored: [TopicPartition: RecentFingerprints], starts: [TopicPartition: Offset],
        ends: [TopicPartition: Offset], settings: Settings, logger sink: @escaping ClientLog.Sink,
        timeout: Duration = .seconds(30)
    ) throws(KafkaError) -> [TopicPartition: LogJudgement] {
        var from: [TopicPartition: Offset] = [:]
        var to: [TopicPartition: Offset] = [:]
        for (partition, fingerprints) in stored {
            guard let range = range(of: fingerprints, start: starts[partition], end: ends[partition]) else { continue }
            (from[partition], to[partition]) = (range.lowerBound, range.upperBound)
        }
        var found: [TopicPartition: [RecordFingerprint]] = [:]
        if !from.isEmpty {
            var settings = settings
            settings["isolation.level"] = "read_committed"
            var consumer = try Consumer(assigning: settings, logger: sink)
            found = try read(from, to, with: &consumer, timeout: timeout)
        }
        return Dictionary(uniqueKeysWithValues: stored.map { ($0.key, $0.value.judge(found[$0.key] ?? [])) })
    }

    /// The offsets to read; nil where the log has none of them.
    static func range(of stored: RecentFingerprints, start: Offset?, end: Offset?) -> Range<Offset>? {
        let offsets = stored.elements.map(\.offset)
        guard let oldest = offsets.min(), let newest = offsets.max(), let start, let end else { return nil }
        let (from, to) = (max(Offset(oldest), start), min(Offset(newest + 1), end))
        return from < to ? from..<to : nil
    }

    private static func read(
        _ from: [TopicPartition: Offset], _ to: [TopicPartition: Offset], with consumer: inout Consumer,
        timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: [RecordFingerprint]] {
        let deadline = ContinuousClock.now + timeout
        var found: [TopicPartition: [RecordFingerprint]] = [:]
        do {
            try TopicReader.read(from: from, to: to, with: &consumer) { batch in
                guard .now < deadline else { throw KafkaError.logNotRead(within: timeout) }
                for index in 0..<batch.count {
                    let record = batch[index]
                    let partition = TopicPartition(topic: record.topic, partition: record.partition)
                    guard let end = to[partition], record.offset < end.value else { continue }
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
    fileprivate static func logNotRead(within timeout: Duration) -> KafkaError {
        logNotRead("the records that a store came from could not be read within \(timeout)")
    }

    fileprivate static func logNotRead(_ why: String) -> KafkaError {
        KafkaError(kind: .timedOut, recovery: .retry, name: "", message: why, operation: "consume")
    }
}
