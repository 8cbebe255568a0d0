import Broadcasts
import Digests
import KafkaClient
import Pipeline

/// Why one device got a broadcast, or did not.
package struct BroadcastExplanation: Encodable {
    package let entry: BroadcastLog.Entry
    package let broadcast: BroadcastNotification
    /// The SHA-256 of the device's token, in hex.
    package let device: String
    /// Of the subscriptions.
    package let partition: Int32
    package let fates: [BroadcastTrace.Fate]
    /// What became of its pushes at the provider; nil: not known.
    package let outcomes: [PushOutcome]?
    package let topics: PipelineConfiguration.Topics

    private struct FateRow: Encodable {
        var outcome: String
        var message: String
    }

    private enum CodingKeys: String, CodingKey {
        case broadcast, messageID, audience, record, device, partition, sent, fates, outcomes
    }

    package func encode(to encoder: any Encoder) throws {
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

    package var record: RecordPosition { RecordPosition(topics.broadcasts, 0, entry.offset) }
}

extension KafkaLog {
    /// Follows a broadcast to one device: the versions of its subscription, what the journal says of them, and what its provider
    /// has answered.
    ///
    /// - Parameters:
    ///   - device: the SHA-256 of its token, in hex.
    ///   - journal: reads the entries since the broadcast's record.
    package mutating func explain(
        _ entry: BroadcastLog.Entry, _ broadcast: BroadcastNotification, for device: String, _ group: BroadcastGroup,
        _ configuration: PipelineConfiguration, journal: ((BroadcastJournalEntry) -> Void) throws -> Void,
        progress: (Int, Double) -> Void = { _, _ in }
    ) throws -> BroadcastExplanation {
        let topics = configuration.topics
        let key = Array("\(broadcast.audience)|\(device)".utf8)
        let partition = Murmur2.partition(of: key, count: Int32(group.partitions))
        let subject = BroadcastTrace.Subject(
            offset: entry.offset, time: entry.time ?? .epoch, publishedAt: broadcast.publishedAt,
            expiresAt: broadcast.expiresAt, endedAt: entry.endTime)
        var trace = BroadcastTrace(
            subject, group: group.name, partition: partition, device: Self.bytes(device),
            versions: try versions(of: key, partition, topics.subscriptions, progress: progress),
            maxAge: Int64(configuration.subscriptionsMaxAge / .milliseconds(1)))
        try journal { trace.note($0) }
        let fates = trace.fates(committed: group.committed[partition])
        let outcomes =
            fates.contains { $0.isSent }
            ? try outcomes(
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
    private mutating func versions(
        of key: [UInt8], _ partition: Int32, _ topic: String, progress: (Int, Double) -> Void
    ) throws -> [BroadcastTrace.Version] {
        let bounds = try bounds(of: topic).filter { $0.key == partition }
        var versions: [BroadcastTrace.Version] = []
        try read(bounds, of: topic) { records, indices in
            for index in indices where records[index].key.map({ $0.elementsEqual(key) }) ?? false {
                let record = records[index]
                guard let value = record.value else {
                    versions.append(.init(offset: record.offset, isLive: false))
                    continue
                }
                guard let subscription = try? Subscription.decode(key: key, value: Array(value)) else { continue }
                let isRotation = SubscriptionRecord.isRotation(
                    records.header(SubscriptionRecord.sinceHeader, at: index))
                versions.append(
                    .init(
                        offset: record.offset, isLive: true, lastSeen: subscription.lastSeenAt,
                        rotatedAt: isRotation ? record.timestamp ?? .epoch : nil))
            }
        } progress: {
            progress($0, $1)
        }
        return versions
    }
}

extension BroadcastLog.Entry {
    /// When it was cancelled or replaced; nil if it was not, or that is not known.
    fileprivate var endTime: WallTime? {
        switch end {
        case .cancelled(let time): time
        case .replaced, nil: nil
        }
    }
}
