import Notifications

extension BroadcastCore {
    /// Looks at a record that is to be taken later: a device that leaves by it gets nothing for having joined before.
    package mutating func look(ahead record: SubscriptionRecord) {
        guard let partition = partitions[record.partition], record.offset >= partition.ahead,
            partition.hasRoomForLeavers
        else { return }
        partition.ahead = record.offset + 1
        if let key = partition.table.leaver(record) { partition.leaves(key, at: record.offset) }
    }

    /// Everything of the partition below this offset was looked at, as far as there was room.
    package mutating func looked(ahead offset: Int64, of number: Int32) {
        guard let partition = partitions[number], partition.hasRoomForLeavers else { return }
        partition.ahead = max(partition.ahead, offset)
    }

    /// The next offset to look at; nil while as many leavers are known as may be.
    package func ahead(_ number: Int32) -> Int64? {
        guard let partition = partitions[number], partition.hasRoomForLeavers else { return nil }
        return partition.ahead
    }

    /// Whether a joiner of any channel may get something.
    package func hasValid(clock: WallTime) -> Bool { catalogue.oldestValid(clock: clock) < catalogue.reached }

    /// Takes a record of the subscriptions. A device that joins gets, in the same transaction, the newest valid broadcasts
    /// that it has missed, unless it is known to leave again. Of a token that was rotated the pass went over the old one:
    /// it gets only what was published since, and what is under way, which may not have come to the old one yet.
    ///
    /// - Parameters:
    ///   - timestamp: the record's own.
    ///   - clock: decides what has expired; the same in a whole transaction.
    ///   - since: the value of the record's ``SubscriptionRecord/sinceHeader``, asked for where it decides something.
    package mutating func take(
        _ record: SubscriptionRecord, timestamp: WallTime?, clock: WallTime, since: () -> UnsafeRawBufferPointer?
    ) throws {
        guard let partition = partitions[record.partition], record.offset >= partition.next.offset else { return }
        partition.next.offset = record.offset + 1
        partition.ahead = max(partition.ahead, partition.next.offset)
        open.taken += 1
        switch try partition.table.apply(record, timestamp: timestamp) {
        case .none, .refreshed: return
        case .malformed: open.malformed += 1
        case .left(let key): partition.leaves(key, at: record.offset)
        case .joined(let key, let value):
            guard !partition.hasLeft(key, since: record.offset) else { return }
            var missed = catalogue.late(
                key.audience, below: partition.lateBelow, clock: clock, limit: settings.mostLate)
            if !missed.isEmpty, SubscriptionRecord.isRotation(since()) {
                missed.removeAll { broadcast in
                    broadcast.offset < partition.next.broadcast
                        && (broadcast.record.timestamp ?? .epoch) < (timestamp ?? .epoch)
                }
            }
            for broadcast in missed {
                late[broadcast.offset, default: []].append(
                    Joiner(partition: record.partition, offset: record.offset, key: key, value: value))
            }
            open.planned += missed.count
        }
    }

    /// Everything of the partition below this offset was read.
    package mutating func reached(_ offset: Int64, of number: Int32) {
        guard let partition = partitions[number] else { return }
        partition.next.offset = max(partition.next.offset, offset)
        partition.ahead = max(partition.ahead, offset)
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

    /// - Returns: false if the device has left since, or was last seen too long ago.
    private mutating func send(
        _ content: BroadcastNotification, to joiner: Joiner, _ audience: UnsafeRawBufferPointer,
        into sink: inout some BroadcastSink & ~Copyable
    ) throws -> Bool {
        guard partitions[joiner.partition]?.hasLeft(joiner.key, since: joiner.offset) == false else { return false }
        return try joiner.key.withBytes { key in
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
