import Broadcasts
import Digests
import KafkaClient
import Replay

/// Why one device got a broadcast, or did not.
struct BroadcastExplanation: Report {
    var entry: BroadcastLog.Entry
    var broadcast: BroadcastNotification
    /// The SHA-256 of the device's token, in hex.
    var device: String
    /// Of the subscriptions.
    var partition: Int32
    var fates: [BroadcastTrace.Fate]
    /// What became of its pushes at the provider; nil: not known.
    var outcomes: [PushOutcome]?
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
            offset: entry.offset, publishedAt: broadcast.publishedAt, expiresAt: broadcast.expiresAt,
            endedAt: broadcasts.endTime(of: entry))
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
            entry: entry, broadcast: broadcast, device: device, partition: partition, fates: fates,
            outcomes: outcomes?.values.map(PushOutcome.init).sorted { $0.at < $1.at }, topics: topics)
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
        try log.read(bounds, of: topic) { records, indices in
            for index in indices where records[index].key.map({ $0.elementsEqual(key) }) ?? false {
                let record = records[index]
                guard let value = record.value else {
                    versions.append(.init(offset: record.offset, isLive: false))
                    continue
                }
                guard let subscription = try? Subscription.decode(key: key, value: Array(value)) else { continue }
                versions.append(.init(offset: record.offset, isLive: true, lastSeen: subscription.lastSeenAt))
            }
        } progress: {
            line.show($0, fraction: $1)
        }
        return versions
    }

    private struct FateRow: Encodable {
        var outcome: String
        var message: String
    }

    private enum CodingKeys: String, CodingKey {
        case broadcast, messageID, audience, record, device, partition, sent, fates, outcomes
    }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(entry.id, forKey: .broadcast)
        try members.encode(broadcast.messageID, forKey: .messageID)
        try members.encode(broadcast.audience, forKey: .audience)
        try members.encode(record, forKey: .record)
        try members.encode(device, forKey: .device)
        try members.encode(partition, forKey: .partition)
        try members.encode(fates.contains { $0.isSent }, forKey: .sent)
        try members.encode(fates.map { FateRow(outcome: $0.label, message: $0.sentence) }, forKey: .fates)
        try members.encodeIfPresent(outcomes, forKey: .outcomes)
    }

    private var record: RecordPosition { RecordPosition(topics.broadcasts, 0, entry.offset) }

    var rows: [Row] {
        let lines = outcomes.map { PushOutcome.lines($0, at: $0.map(\.at), in: topics.deliveries) } ?? []
        return [
            .pair("broadcast", "\(entry.id) (\(broadcast.kind)) to \(broadcast.audience), \(record)"),
            .pair("device", "\(device.prefix(12))…, \(topics.subscriptions)/\(partition)"),
        ] + fates.map { .pair("outcome", $0.sentence) } + lines.map { .pair("provider", $0) }
    }
}

extension BroadcastLog {
    /// When a broadcast was cancelled or replaced; nil if it was not, or that is not known.
    fileprivate func endTime(of entry: Entry) -> WallTime? {
        switch entry.end {
        case .cancelled(let time): time
        case .replaced, nil: nil
        }
    }
}
