import Events
import Subscriptions

extension BroadcastCore {
    /// Takes a record of the subscriptions. A device that joins gets, in the same transaction, the newest valid broadcasts
    /// that it has missed.
    ///
    /// - Parameters:
    ///   - timestamp: the record's own.
    ///   - clock: decides what has expired; the same in a whole transaction.
    package mutating func take(_ record: SubscriptionRecord, timestamp: WallTime?, clock: WallTime) throws {
        guard let partition = partitions[record.partition], record.offset >= partition.next.offset else { return }
        partition.next.offset = record.offset + 1
        open.taken += 1
        switch try partition.table.apply(record, timestamp: timestamp) {
        case .none, .refreshed, .left: return
        case .malformed: open.malformed += 1
        case .joined(let key, let value):
            let missed = catalogue.late(
                key.audience, below: partition.lateBelow, clock: clock, limit: settings.mostLate)
            for broadcast in missed {
                late[broadcast.offset, default: []].append(
                    Joiner(partition: record.partition, key: key, value: value))
            }
            open.planned += missed.count
        }
    }

    /// Everything of the partition below this offset was read.
    package mutating func reached(_ offset: Int64, of number: Int32) {
        guard let partition = partitions[number] else { return }
        partition.next.offset = max(partition.next.offset, offset)
    }

    /// Whether the transaction may take another record: it has room for another joiner, and knows what joiners have
    /// missed.
    package var hasRoom: Bool { !isBehind && open.sent + open.planned < settings.mostRecords }

    /// Sends what joiners have missed, oldest broadcast first.
    package mutating func sendLate(into sink: inout some BroadcastSink & ~Copyable) throws {
        for offset in late.keys.sorted() {
            guard let joiners = late[offset], let broadcast = catalogue.broadcast(at: offset),
                case .published(let content, _) = broadcast.content,
                renderer.begin(content, from: broadcast.record, of: settings.topic, headers: broadcast.headers) == nil
            else { continue }
            try send(content, at: offset, to: joiners, into: &sink)
        }
        late.removeAll(keepingCapacity: true)
        open.planned = 0
    }

    private mutating func send(
        _ content: BroadcastNotification, at offset: Int64, to joiners: [Joiner],
        into sink: inout some BroadcastSink & ~Copyable
    ) throws {
        var sent: [Int32: Int] = [:]
        var audience = content.audience
        try audience.withUTF8 { audience in
            for joiner in joiners where try send(content, to: joiner, UnsafeRawBufferPointer(audience), into: &sink) {
                sent[joiner.partition, default: 0] += 1
            }
        }
        for (number, count) in sent.sorted(by: { $0.key < $1.key }) {
            open.late.append(
                .init(
                    subject: .init(
                        partition: number, broadcast: offset, notificationID: content.notificationID,
                        messageID: content.messageID), sent: count))
            open.sent += count
        }
    }

    /// - Returns: false if the device was last seen too long ago.
    private mutating func send(
        _ content: BroadcastNotification, to joiner: Joiner, _ audience: UnsafeRawBufferPointer,
        into sink: inout some BroadcastSink & ~Copyable
    ) throws -> Bool {
        try joiner.key.withBytes { key in
            try joiner.value.withUnsafeBytes { value in
                guard let device = ChannelEntry.device(key, value),
                    !device.isStale(at: content.publishedAt, maxAge: settings.maxAge)
                else { return false }
                try sink.dispatch(renderer.render(device, audience: audience))
                return true
            }
        }
    }
}
