import Broadcasts
import Deliveries
import Digests
import KafkaClient
import Pipeline
import Replay
import Subscriptions

/// Why one device got a broadcast, or did not, for a person, and as JSON.
struct BroadcastExplanation {
    var entry: BroadcastLog.Entry
    var broadcast: BroadcastNotification
    /// The SHA-256 of the device's token, in hex.
    var device: String
    /// Of the subscriptions.
    var partition: Int32
    var fates: [BroadcastTrace.Fate]
    /// What became of its pushes at the provider; nil: not known.
    var outcomes: [Coordinates: DeliveryRecord]?
    var topics: PipelineConfiguration.Topics

    /// - Parameter device: the SHA-256 of its token, in hex.
    /// - Throws: if there is no such broadcast, or it is a dead letter: exit code 64.
    static func find(
        _ id: String, _ device: String, _ configuration: PipelineConfiguration
    ) throws -> BroadcastExplanation {
        let topics = configuration.topics
        let broadcasts = try BroadcastLog.read(configuration)
        let entry = try broadcasts.found(id, configuration)
        guard let broadcast = entry.broadcast else {
            throw CommandFailure(.usage, "the broadcast \(id) is a dead letter; 'carillon broadcast status' says why")
        }
        let group = try BroadcastGroup.read(configuration)
        let key = Array("\(broadcast.audience)|\(device)".utf8)
        let partition = Murmur2.partition(of: key, count: Int32(group.partitions))
        var log = try KafkaLog(configuration, logger: configuration.clientSink, isStopped: { false })
        let subject = BroadcastTrace.Subject(
            offset: entry.offset, publishedAt: broadcast.publishedAt.milliseconds,
            expiresAt: broadcast.expiresAt.milliseconds, endedAt: broadcasts.endTime(of: entry))
        var trace = BroadcastTrace(
            subject, group: group.name, partition: partition, device: bytes(device),
            versions: try versions(of: key, partition, topics.subscriptions, &log),
            maxAge: Int64(configuration.subscriptionsMaxAge / .milliseconds(1)))
        try BroadcastGroup.readJournal(configuration, since: entry.time) { trace.note($0) }
        let fates = trace.fates(committed: group.committed[partition])
        let outcomes =
            fates.contains { $0.isSent }
            ? try log.outcomes(
                of: broadcast.messageID, device: device, writtenTo: topics.broadcastDispatch, in: topics.deliveries,
                since: entry.time) : nil
        return BroadcastExplanation(
            entry: entry, broadcast: broadcast, device: device, partition: partition, fates: fates, outcomes: outcomes,
            topics: topics)
    }

    /// - Parameter hash: 64 hex digits.
    private static func bytes(_ hash: String) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 32) { target, count in
            guard let start = target.baseAddress else { return }
            count = Array(hash.utf8).withUnsafeBytes { Hex.read($0, to: UnsafeMutableRawPointer(start)) } ? 32 : 0
        }
    }

    /// The history of a key; what is no subscription changes nothing, as in the daemon.
    private static func versions(
        of key: [UInt8], _ partition: Int32, _ topic: String, _ log: inout KafkaLog
    ) throws -> [BroadcastTrace.Version] {
        let bounds = try log.bounds(of: topic).filter { $0.key == partition }
        var versions: [BroadcastTrace.Version] = []
        var line = ProgressLine(unit: "subscriptions")
        defer { line.clear() }
        try log.read(bounds, of: topic, headers: false) { records, indices in
            for index in indices where records[index].key.map({ $0.elementsEqual(key) }) ?? false {
                let record = records[index]
                guard let value = record.value else {
                    versions.append(.init(offset: record.offset, isLive: false))
                    continue
                }
                guard let subscription = try? Subscription.decode(key: key, value: Array(value)) else { continue }
                versions.append(
                    .init(offset: record.offset, isLive: true, lastSeen: subscription.lastSeenAt?.milliseconds))
            }
        } progress: {
            line.show($0, fraction: $1)
        }
        return versions
    }

    var text: String {
        var rows = [
            (
                "broadcast",
                "\(entry.id) (\(broadcast.kind)) to \(broadcast.audience), \(topics.broadcasts)/0/\(entry.offset)"
            ),
            ("device", "\(device.prefix(12))…, \(topics.subscriptions)/\(partition)"),
        ]
        rows += fates.map { ("outcome", $0.sentence) }
        rows += PushOutcomeText(outcomes, ofBroadcast: topics).lines.map { ("provider", $0) }
        return TextRows.text(rows)
    }

    struct Document: Encodable {
        struct Fate: Encodable {
            var outcome: String
            var message: String
        }

        var broadcast: String
        var messageID: String
        var audience: String
        var record: String
        var device: String
        var partition: Int32
        var sent: Bool
        var fates: [Fate]
        /// At the provider; absent if that is not known.
        var outcomes: [PushOutcomeText.Document]?
    }

    var document: Document {
        Document(
            broadcast: entry.id, messageID: broadcast.messageID, audience: broadcast.audience,
            record: "\(topics.broadcasts)/0/\(entry.offset)", device: device, partition: partition,
            sent: fates.contains { $0.isSent }, fates: fates.map { .init(outcome: $0.label, message: $0.sentence) },
            outcomes: PushOutcomeText(outcomes, ofBroadcast: topics).documents)
    }
}

extension BroadcastLog {
    /// When a broadcast was cancelled or replaced, in milliseconds since 1970; nil if it was not, or that is not known.
    fileprivate func endTime(of entry: Entry) -> Int64? {
        switch entry.end {
        case .cancelled(let time): time
        case .replaced, nil: nil
        }
    }
}
