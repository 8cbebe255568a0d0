/// librdkafka's settings by librdkafka's names.
public typealias Settings = [String: String]

/// Which settings a client gets, in order of precedence: what exactly-once fixes, the user's, Carillon's defaults.
///
/// Source of the values: docs/kafka.md, "Settings", all measured.
public enum ClientSettings {
    /// Settings that the user cannot set, each with what to use instead, or the reason.
    public static let owned: [String: String] = [
        "group.id": "use group.id of the pipeline",
        "group.instance.id": "use instance.id and static-membership",
        "transactional.id": "it is made from group.id and instance.id",
        "enable.auto.commit": "offsets are committed in the transaction",
        "auto.commit.enable": "offsets are committed in the transaction",
        "auto.commit.interval.ms": "offsets are committed in the transaction",
        "enable.auto.offset.store": "offsets are committed in the transaction",
        "offset.store.method": "offsets are committed in the transaction",
        "offset.store.path": "offsets are committed in the transaction",
        "offset.store.sync.interval.ms": "offsets are committed in the transaction",
        "auto.offset.reset": "use --from at the first start, and offsets set later",
        "isolation.level": "exactly once reads committed records only",
        "partition.assignment.strategy":
            "it is range, or roundrobin with several topics: cooperative assignment loses its place in librdkafka 2.0.2",
        "enable.partition.eof": "the end of a partition is always reported",
        "enable.idempotence": "a transactional producer is always idempotent",
        "enable.gapless.guarantee": "a lost record aborts its transaction",
        "acks": "a transactional producer always waits for all replicas",
        "request.required.acks": "a transactional producer always waits for all replicas",
        "partitioner": "always murmur2_random, as Java clients: a tombstone must meet its subscription",
        "delivery.report.only.error": "delivery reports are counted here",
        "log.queue": "log lines go to the logger",
        "log_level": "use log.level",
    ]

    /// The defaults of a consumer.
    public static let consumerDefaults: Settings = [
        "auto.offset.reset": "error",
        "check.crcs": "true",
        "client.id": "carillon",
        "fetch.error.backoff.ms": "100",
        "fetch.wait.max.ms": "50",
        "isolation.level": "read_committed",
        "max.poll.interval.ms": "120000",
        "queued.max.messages.kbytes": "16384",
        "queued.min.messages": "20000",
        "session.timeout.ms": "10000",
        "socket.nagle.disable": "true",
    ]

    /// A consumer's, so that a response holds no more than one batch, and the next one is fetched when it has been read.
    package static let oneBatchAtATime: Settings = ["fetch.message.max.bytes": "1", "queued.min.messages": "1"]

    /// The defaults of a producer.
    public static let producerDefaults: Settings = [
        "batch.num.messages": "10000",
        "client.id": "carillon",
        "compression.type": "lz4",
        "linger.ms": "20",
        "message.max.bytes": "16777216",
        "queue.buffering.max.kbytes": "262144",
        "queue.buffering.max.messages": "500000",
        "retry.backoff.ms": "10",
        "socket.nagle.disable": "true",
        "socket.timeout.ms": "10000",
    ]

    /// What a transactional producer adds to ``producerDefaults``.
    public static let transactionDefaults: Settings = ["transaction.timeout.ms": "20000"]

    /// One sentence for each setting that the user gave and cannot set, or that librdkafka does not know; empty when
    /// all are fine.
    public static func problems(in settings: Settings) -> [String] {
        settings.keys.sorted().compactMap { name in
            if let reason = owned[name] { return "\(name) cannot be set: \(reason)" }
            if LibrarySettings.scopes[name] == nil { return "librdkafka has no setting \(name)" }
            return nil
        }
    }
}

extension ClientSettings {
    static let consumerFixed: Settings = [
        "enable.auto.commit": "false",
        "enable.auto.offset.store": "false",
        "enable.partition.eof": "true",
        "partition.assignment.strategy": "range",
    ]

    static let producerFixed: Settings = [
        "delivery.report.only.error": "true",
        "enable.idempotence": "true",
        "partitioner": "murmur2_random",
    ]

    /// - Throws: `.configuration`, naming every setting of the user that contradicts a fixed one.
    static func merged(
        fixed: Settings, user: Settings, defaults: Settings, for scope: LibrarySettings.Scope
    ) throws(KafkaError) -> Settings {
        let problems = fixed.keys.sorted().filter { user[$0] != nil && user[$0] != fixed[$0] }
        guard problems.isEmpty else {
            throw .configuration(
                problems.map {
                    "\($0)=\(user[$0] ?? "") cannot be set: \(owned[$0] ?? "it is always \(fixed[$0] ?? "")")"
                }
                .joined(separator: "; "))
        }
        // One file of settings serves consumers and producers, and librdkafka would warn about each that is not for the
        // client. An unknown one is kept, so that librdkafka refuses it.
        let relevant = user.filter { !(LibrarySettings.scopes[$0.key] ?? scope).isDisjoint(with: scope) }
        return defaults.merging(relevant) { $1 }.merging(fixed) { $1 }
    }
}
