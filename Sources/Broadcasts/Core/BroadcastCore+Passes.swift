import Pipeline

extension BroadcastCore {
    /// So many devices are looked at between two looks at the budget.
    private static let batch = 5_000

    /// Begins, continues and ends passes of a partition, until nothing is left or the budget is used up. Does nothing
    /// while it knows less of the broadcasts than the group: what it does not know yet would seem to be cancelled.
    ///
    /// The caller has made sure that the partition's subscriptions and the broadcasts are up to date. Comes before any
    /// ``take(_:timestamp:clock:)`` of the transaction.
    /// - Parameters:
    ///   - clock: decides what has expired.
    ///   - budget: the dispatch records that may be written.
    package mutating func send(
        _ number: Int32, clock: WallTime, budget: inout Int, into sink: inout some BroadcastSink & ~Copyable
    ) throws {
        guard let partition = partitions[number], isKnown(partition) else { return }
        while budget > 0 {
            if partition.next.pass == nil {
                guard let broadcast = catalogue.first(from: partition.next.broadcast) else {
                    return passRest(in: partition)
                }
                guard try begin(broadcast, in: partition, clock: clock, into: &sink) else { continue }
            }
            try continuePass(of: partition, clock: clock, budget: &budget, into: &sink)
        }
    }

    /// What is left of the log has been cancelled or replaced.
    private mutating func passRest(in partition: BroadcastPartition) {
        guard partition.next.broadcast < catalogue.reached else { return }
        partition.next.broadcast = catalogue.reached
        open.hasMoved = true
    }

    /// - Returns: false if the broadcast is not sent.
    private mutating func begin(
        _ broadcast: StoredBroadcast, in partition: BroadcastPartition, clock: WallTime,
        into sink: inout some BroadcastSink & ~Copyable
    ) throws -> Bool {
        switch broadcast.content {
        case .failed(let letter):
            try write(letter, broadcast, for: partition, into: &sink)
            skip(broadcast, nil, .deadLetter, in: partition)
            return false
        case .published(let content, let audience):
            guard content.expiresAt > clock else {
                skip(broadcast, content.notificationID, .expired, in: partition)
                return false
            }
            // Whoever joined below this offset is in the store; whoever is only pending joins later.
            if partition.table.isPending {
                try partition.table.flush(at: partition.committed.offset)
            }
            let joinedBelow = partition.next.offset
            partition.next.broadcast = broadcast.offset
            partition.next.pass = .init(joinedBelow: joinedBelow, key: nil)
            var slice = slice(of: partition, content)
            slice.devices = try partition.table.count(audience, joinedBelow: joinedBelow)
            open.passes.append(slice)
            return true
        }
    }

    private mutating func skip(
        _ broadcast: StoredBroadcast, _ id: String?, _ reason: BroadcastJournalEntry.Skipped.Reason,
        in partition: BroadcastPartition
    ) {
        open.skipped.append(
            .init(partition: partition.number, broadcast: broadcast.offset, notificationID: id, reason: reason))
        partition.next.broadcast = broadcast.offset + 1
    }

    /// Every partition passes a dead letter; one writes it.
    private mutating func write(
        _ letter: DeadLetter, _ broadcast: StoredBroadcast, for partition: BroadcastPartition,
        into sink: inout some BroadcastSink & ~Copyable
    ) throws {
        guard partition.number == 0 else { return }
        let record = broadcast.record
        open.deadLetters += 1
        if open.firstDeadLetter == nil {
            open.firstDeadLetter = DeadLetterPosition(
                letter.code, topic: settings.topic, partition: record.partition, offset: record.offset)
        }
        try deadLetters.withHeaders(of: letter, for: record, of: settings.topic, own: broadcast.headers[...]) {
            headers in
            try sink.deadLetter(
                key: record.key, value: record.value, headers: headers, own: broadcast.headers.count)
        }
    }

    /// A slice of the pass that is under way, at its beginning.
    private func slice(
        of partition: BroadcastPartition, _ content: BroadcastNotification?
    ) -> BroadcastJournalEntry.Slice {
        let pass = partition.next.pass
        return .init(
            subject: .init(
                partition: partition.number, broadcast: partition.next.broadcast,
                notificationID: content?.notificationID, messageID: content?.messageID),
            joinedBelow: pass?.joinedBelow ?? 0, keyBefore: pass?.key)
    }

    /// Sends to the next devices, and ends the pass after the last one, or where the broadcast is no longer to be sent.
    private mutating func continuePass(
        of partition: BroadcastPartition, clock: WallTime, budget: inout Int,
        into sink: inout some BroadcastSink & ~Copyable
    ) throws {
        guard let broadcast = catalogue.broadcast(at: partition.next.broadcast) else {
            return end(partition, nil, .cancelled)
        }
        let (content, audience): (BroadcastNotification, ChannelHash)
        switch broadcast.content {
        case .published(let published, let hash): (content, audience) = (published, hash)
        // The process that began the pass could still send it.
        case .failed(let letter):
            try write(letter, broadcast, for: partition, into: &sink)
            return end(partition, nil, .failed)
        }
        guard content.expiresAt > clock else { return end(partition, content, .expired) }
        if let letter = renderer.begin(
            content, from: broadcast.record, of: settings.topic, headers: broadcast.headers)
        {
            try write(letter, broadcast, for: partition, into: &sink)
            return end(partition, content, .failed)
        }
        let index = openSlice(of: partition, content)
        var key = partition.next.pass?.key.map { ChannelKey(audience, device: $0) }
        var isAtEnd = false
        while budget > 0, !isAtEnd {
            let first = key?.successor
            guard key == nil || first != nil else {
                isAtEnd = true
                break
            }
            isAtEnd = try !sendBatch(
                of: partition, content, audience, from: first, limit: min(budget, Self.batch), slice: index,
                budget: &budget, into: &sink)
            key = partition.table.lastVisited ?? key
        }
        if isAtEnd { return end(partition, content, .done) }
        partition.next.pass?.key = key?.device
        open.passes[index].keyAfter = key?.device
    }

    /// The entry of this transaction for the pass: the one with which it began, or a new one.
    private mutating func openSlice(of partition: BroadcastPartition, _ content: BroadcastNotification?) -> Int {
        let broadcast = partition.next.broadcast
        if let index = open.passes.lastIndex(where: {
            $0.subject.partition == partition.number && $0.subject.broadcast == broadcast && $0.end == nil
        }) {
            return index
        }
        open.passes.append(slice(of: partition, content))
        return open.passes.count - 1
    }

    /// - Returns: whether there may be more devices.
    private mutating func sendBatch(
        of partition: BroadcastPartition, _ content: BroadcastNotification, _ audience: ChannelHash,
        from first: ChannelKey?, limit: Int, slice index: Int, budget: inout Int,
        into sink: inout some BroadcastSink & ~Copyable
    ) throws -> Bool {
        let joinedBelow = partition.next.pass?.joinedBelow ?? 0
        var (sent, stale) = (0, 0)
        var name = content.audience
        let mayHaveMore = try name.withUTF8 { name in
            try partition.table.visit(audience, from: first, limit: limit) { _, device, joined in
                guard joined < joinedBelow else { return }
                guard !device.isStale(at: content.publishedAt, maxAge: settings.maxAge) else {
                    stale += 1
                    return
                }
                try sink.dispatch(renderer.render(device, audience: UnsafeRawBufferPointer(name)))
                sent += 1
            }
        }
        open.passes[index].sent += sent
        open.passes[index].stale += stale
        open.sent += sent
        budget -= sent
        return mayHaveMore
    }

    private mutating func end(
        _ partition: BroadcastPartition, _ content: BroadcastNotification?, _ end: BroadcastJournalEntry.Slice.End
    ) {
        let index = openSlice(of: partition, content)
        open.passes[index].end = end
        open.passes[index].keyAfter = nil
        partition.next.broadcast += 1
        partition.next.pass = nil
    }
}
