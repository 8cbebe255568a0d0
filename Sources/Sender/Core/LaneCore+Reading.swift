import Notifications

extension LaneCore {
    /// Everything of a topic's partition below this offset was handed in, or is nothing to this lane: records of other
    /// providers, and the markers of transactions.
    package mutating func reached(_ offset: Int64, of stream: LaneStream, _ partition: Int32) {
        partitions[partition]?.streams[topicIndex(stream)].skip(to: offset)
    }

    /// A record of a dispatch topic.
    ///
    /// - Returns: false if the partition is full: hand it in again later.
    package mutating func dispatch(_ record: LaneRecord, now: WallTime) -> Bool {
        guard let state = partitions[record.partition] else { return true }
        let stream = LaneStream.dispatch(record.kind)
        switch state.streams[topicIndex(stream)].open(record.source) {
        case .open: break
        case .known: return true
        case .full:
            makeRoom(in: stream, state, now: now)
            return false
        }
        take(
            HeldRecord(
                record, RetryNote(record), stream: stream,
                offset: record.source, usedUntil: now), state, now: now)
        return true
    }

    /// A record of a retry topic that is due. What is older of its device may still be in the dispatch topic, unread since the
    /// partition was assigned: it waits until everything before its dispatch record has been handed in.
    ///
    /// - Parameter appendedAt: the record's own timestamp.
    /// - Returns: false if it has to wait for that, or the partition is full: hand it in again later.
    package mutating func retry(
        _ record: LaneRecord, _ note: RetryNote, tier: Int, at offset: Int64, appendedAt: WallTime, now: WallTime
    ) -> Bool {
        guard let state = partitions[record.partition] else { return true }
        // It has made way for the others once; they are read all the same.
        if let credential = record.credential, credentials[credential].full.contains(record.kind) { return false }
        guard state.hasReached(note.offset, at: topicIndex(.dispatch(record.kind))) else { return false }
        let stream = LaneStream.tier(record.kind, tier)
        switch state.streams[topicIndex(stream)].open(offset) {
        case .open: break
        case .known: return true
        case .full:
            makeRoom(in: stream, state, now: now)
            return false
        }
        take(
            HeldRecord(
                record, waited(note, record, since: appendedAt, now: now), stream: stream, offset: offset,
                usedUntil: now),
            state, now: now)
        return true
    }

    /// A record that was wanted (``wants(_:of:_:)``) has been read again.
    ///
    /// - Parameters:
    ///   - note: of a retry topic's.
    ///   - appendedAt: the record's own timestamp.
    package mutating func found(
        _ record: LaneRecord, _ note: RetryNote?, at offset: Int64, of stream: LaneStream, appendedAt: WallTime,
        now: WallTime
    ) {
        guard let state = partitions[record.partition] else { return }
        let topicIndex = topicIndex(stream)
        if state.turns[topicIndex].remove(offset) { turnCount -= 1 }
        let mustHop = state.hops[topicIndex].remove(offset)
        if mustHop { hopCount -= 1 }
        let key = HeldKey(kind: record.kind, partition: record.partition, source: record.source)
        let line = state.orders[record.kind.index].line(of: record.device)
        switch state.orders[record.kind.index].state(of: record.source, record.device) {
        case .log: break
        case .held:
            guard mustHop, let record = held[key], !record.isInFlight else { return }
            if record.isQueued { ready[key.kind.index].removeAll { $0 == key } }
            park(key, in: tier(after: stream))
            return
        case .tier, nil: return
        }
        let read = HeldRecord(
            record,
            note.map { waited($0, record, since: appendedAt, now: now) }
                ?? RetryNote(record),
            stream: stream, offset: offset, usedUntil: now)
        if mustHop, line?[0].offset != record.source {
            write(read, key, to: tier(after: stream), state)
        } else {
            take(read, state, now: now)
        }
    }

    /// What is sent, waits or has ended, now that it was read.
    private mutating func take(_ record: HeldRecord, _ state: LanePartition, now: WallTime) {
        let own = record.record
        let key = HeldKey(kind: own.kind, partition: own.partition, source: own.source)
        // A copy that another owner has written: this process stood still, and has not heard yet that it has lost the
        // partition. It can commit nothing of it.
        guard held[key] == nil else {
            state.streams[topicIndex(record.stream)].finish(record.offset)
            return
        }
        held[key] = record
        heldBytes += record.record.size
        if state.orders[key.kind.index].first(of: own.device) != nil, let collapse = record.collapse {
            state.keys[key.kind.index].put(key.source, of: own.device ^ collapse, as: .held)
        }
        let turn = state.orders[key.kind.index].put(key.source, of: own.device, as: .held)
        let notBefore = record.note.notBefore
        record.note.notBefore = nil
        if own.expiresAt <= now {
            conclude(key, record.note.attempts == 0 ? .expired : .gaveUp, now: now)
        } else if own.credential == nil {
            conclude(key, .refused, reason: MessageProblem.noCredential.rawValue, now: now)
        } else if let notBefore, notBefore > now {
            record.note.notBefore = notBefore
            park(key, in: tier(attempts: 0, wait: notBefore - now))
        } else if turn == 0 {
            enqueue(key)
            lookAhead(key, own.device, state)
        } else if !mayHold(turn, key, own.device, state) {
            putDown(key)
        }
    }

    /// The time before the first request is not one of trying.
    private func waited(_ note: RetryNote, _ record: LaneRecord, since appendedAt: WallTime, now: WallTime) -> RetryNote
    {
        guard note.firstSentAt != nil else { return note }
        var note = note
        note.used = min(note.used, settings.longestTry) + unpaused(record, from: appendedAt, to: now)
        return note
    }

    /// The retry topic of a record: by its attempts, or a longer one if it must wait longer.
    func tier(attempts: Int, wait: Int64) -> Int {
        let ladder = min(max(attempts - 1, 0), settings.tiers.count - 1)
        return max(ladder, settings.tiers.lastIndex { $0 <= wait } ?? 0)
    }

    /// The longest retry topic from which a push comes back while it lives; nil if none does.
    ///
    /// - Parameter left: the milliseconds that it still lives.
    func longestTier(within left: Int64) -> Int? { settings.tiers.lastIndex { $0 < left } }

    /// Writes a held record to a retry topic.
    mutating func park(_ key: HeldKey, in tier: Int) {
        guard let record = release(key), let state = partitions[key.partition] else { return }
        write(record, key, to: tier, state)
        // What waits behind it would be in memory for as long as it waits.
        guard let line = state.orders[key.kind.index].line(of: record.record.device) else { return }
        for index in 0..<min(line.count, Self.mostOfDevice) where line[index].offset > key.source {
            if line[index].state == .held { putDown(key.with(line[index].offset)) }
        }
    }

    private mutating func write(_ record: HeldRecord, _ key: HeldKey, to tier: Int, _ state: LanePartition) {
        // Whoever sends it next does not know.
        if state.isDoubted(record, at: topicIndex(record.stream)) { possiblyTwice += 1 }
        outbox.retries.append(.init(tier: tier, record: record.record, note: record.note))
        state.orders[key.kind.index].put(key.source, of: record.record.device, as: .tier(tier))
        state.streams[topicIndex(record.stream)].finish(record.offset)
    }

    mutating func release(_ key: HeldKey) -> HeldRecord? {
        guard let record = held.removeValue(forKey: key) else { return nil }
        heldBytes -= record.record.size
        return record
    }

    /// The end of a record.
    ///
    /// - Parameter reason: the sender's own; nil: the last failure's.
    mutating func conclude(
        _ key: HeldKey, _ outcome: DeliveryOutcome, reason: String? = nil, providerID: String? = nil,
        evidence: WallTime? = nil, now: WallTime
    ) {
        guard let ended = release(key) else { return }
        let record = ended.record
        var written = DeliveryRecord(
            outcome, topic: settings.dispatchTopics[key.kind.index], partition: key.partition, offset: key.source,
            messageID: record.messageID, device: record.deviceHash, platform: record.platform,
            attempts: ended.note.attempts)
        written.app = record.app
        written.environment = record.environment
        written.status = ended.note.status
        written.reason = reason ?? ended.note.reason
        written.providerID = providerID
        written.evidence = evidence
        written.credential = record.credential.map { settings.credentials[$0] }
        written.firstSentAt = ended.note.firstSentAt
        written.lastSentAt = ended.note.lastSentAt
        outbox.outcomes.append(written)
        guard let state = partitions[key.partition] else { return }
        let (wasFirst, first) = state.orders[key.kind.index].remove(key.source, of: record.device)
        state.streams[topicIndex(ended.stream)].finish(ended.offset)
        state.sends[key.kind.index].end(record.device, isFirst: wasFirst)
        if !state.keys[key.kind.index].isEmpty, let collapse = ended.collapse {
            state.keys[key.kind.index].remove(key.source, of: record.device ^ collapse)
        }
        guard let next = first else { return }
        let nextKey = key.with(next.offset)
        if held[nextKey]?.isQueued == false { enqueue(nextKey) }
        lookAhead(key, record.device, state)
    }

    private mutating func enqueue(_ key: HeldKey) {
        held[key]?.isQueued = true
        ready[key.kind.index].append(key)
    }

    /// What was to be sent already is the first of its kind again.
    mutating func enqueueFirst(_ key: HeldKey) { ready[key.kind.index].insert(key, at: 0) }
}
