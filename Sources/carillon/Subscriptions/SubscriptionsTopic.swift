import KafkaClient
import Pipeline

/// Reads notifications.subscriptions as a pipeline does, with progress on a terminal.
struct SubscriptionsTopic {
    /// A record that is no subscription, named without its token.
    struct Malformed {
        var partition: Int32
        var offset: Int64
    }

    let configuration: PipelineConfiguration

    /// Reads the topic from its beginning to its present end.
    ///
    /// - Parameter take: receives the subscriptions and unsubscriptions that `isWanted` lets through, in offset order of
    ///   each partition.
    /// - Returns: what is no subscription, of the same keys, and of keys that are none.
    func read(
        _ isWanted: (SubscriptionKey) -> Bool = { _ in true },
        take: (_ record: ConsumerRecord, _ key: SubscriptionKey, _ partitions: Int) throws -> Void
    ) throws -> [Malformed] {
        var malformed: [Malformed] = []
        var progress = ProgressLine(unit: "records")
        defer { progress.clear() }
        var (count, fraction) = (0, 0.0)
        try TopicReader.readAll(
            configuration.topics.subscriptions, settings: configuration.kafka, logger: configuration.clientSink
        ) { record, partitions in
            count += 1
            if count % 1_024 == 0 { progress.show(count, fraction: fraction) }
            guard let bytes = record.key, let key = SubscriptionKey(bytes) else {
                return malformed.append(Malformed(partition: record.partition, offset: record.offset.value))
            }
            guard isWanted(key) else { return }
            if let value = record.value, (try? Subscription.decode(key: bytes, value: value)) == nil {
                return malformed.append(Malformed(partition: record.partition, offset: record.offset.value))
            }
            try take(record, key, partitions)
        } progress: {
            fraction = $0
            progress.show(count, fraction: $0)
        }
        return malformed
    }

    /// What the partitions say about a key; nil if they do not know it.
    func state(of key: SubscriptionKey) throws -> KeyState? {
        var state: KeyState?
        _ = try read {
            $0 == key
        } take: { record, key, partitions in
            var found = state ?? KeyState(key: Array(key.text.utf8), partitions: partitions)
            found.note(record)
            state = found
        }
        return state
    }

    /// The keys that are in a wrong partition, or were mended, in the order of the keys. Memory grows with these alone.
    ///
    /// Reads the topic twice if there are any.
    func states() throws -> [KeyState] {
        var keys: Set<[UInt8]> = []
        _ = try read { record, _, partitions in
            guard let key = record.key else { return }
            let isMended = record.headers.contains { $0.name == SubscriptionRecord.mendedHeader }
            if isMended || record.partition != Murmur2.partition(of: key, count: Int32(partitions)) { keys.insert(key) }
        }
        guard !keys.isEmpty else { return [] }
        var states: [[UInt8]: KeyState] = [:]
        _ = try read { record, _, partitions in
            guard let key = record.key, keys.contains(key) else { return }
            states[key, default: KeyState(key: key, partitions: partitions)].note(record)
        }
        return states.values.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }
}
