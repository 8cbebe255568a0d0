import Deliveries

extension DeliveryCore {
    /// Everything of a topic's partition below this offset was handed in, or is nothing to this lane: records of other
    /// providers, and the markers of transactions.
    package mutating func reached(_ offset: Int64, of stream: LaneStream, _ partition: Int32) {
        partitions[partition]?.streams[place(stream)].skip(to: offset)
    }

    /// A record of a dispatch topic.
    ///
    /// - Returns: false if the partition is full: hand it in again later.
    package mutating func dispatch(_ record: LaneRecord, now: WallTime) -> Bool {
        guard let state = partitions[record.partition] else { return true }
        let stream = LaneStream.dispatch(record.kind)
        switch state.streams[place(stream)].open(record.source) {
        case .open: break
        case .known: return true
        case .full: return false
        }
        let newest = state.orders[record.kind.index].last(of: record.device)
        let key = hold(
            HeldRecord(
                record, RetryNote(offset: record.source, attempts: 0, used: 0), stream: stream,
                offset: record.source, usedUntil: now), state)
        if record.expiresAt <= now {
            conclude(key, .expired, now: now)
        } else if record.credential == nil {
            conclude(key, .refused, reason: MessageProblem.noCredential.rawValue, now: now)
        } else if let newest {
            switch newest.place {
            case .held: break
            case .tier(let tier): park(key, in: tier)
            }
        } else {
            enqueue(key)
        }
        return true
    }

    /// A record of a retry topic that is due.
    ///
    /// - Parameter appendedAt: the record's own timestamp.
    /// - Returns: false if the partition is full: hand it in again later.
    package mutating func retry(
        _ record: LaneRecord, _ note: RetryNote, tier: Int, at offset: Int64, appendedAt: WallTime, now: WallTime
    ) -> Bool {
        guard let state = partitions[record.partition] else { return true }
        // It has made way for the others once; they are read all the same.
        if let credential = record.credential, credentials[credential].full.contains(record.kind) { return false }
        let stream = LaneStream.tier(record.kind, tier)
        switch state.streams[place(stream)].open(offset) {
        case .open: break
        case .known: return true
        case .full: return false
        }
        var note = note
        note.used = min(note.used, settings.longestTry) + unpaused(record, from: appendedAt, to: now)
        let notBefore = note.notBefore
        note.notBefore = nil
        let key = hold(
            HeldRecord(record, note, stream: stream, offset: offset, usedUntil: now), state)
        let predecessor = state.orders[record.kind.index].predecessor(of: record.source, record.device)
        if record.expiresAt <= now {
            conclude(key, note.attempts == 0 ? .expired : .gaveUp, now: now)
        } else if record.credential == nil {
            conclude(key, .refused, reason: MessageProblem.noCredential.rawValue, now: now)
        } else if let notBefore, notBefore > now {
            held[key]?.note.notBefore = notBefore
            park(key, in: self.tier(attempts: 0, wait: notBefore - now))
        } else if let predecessor {
            switch predecessor.place {
            case .held: break
            case .tier(let tier): park(key, in: tier)
            }
        } else {
            enqueue(key)
        }
        return true
    }

    private mutating func hold(_ record: HeldRecord, _ state: LanePartition) -> HeldKey {
        let key = HeldKey(
            kind: record.record.kind, partition: record.record.partition, source: record.record.source)
        held[key] = record
        state.orders[key.kind.index].put(key.source, of: record.record.device, at: .held)
        return key
    }

    /// The retry topic of a record: by its attempts, or a longer one if it must wait longer.
    func tier(attempts: Int, wait: Int64) -> Int {
        let ladder = min(max(attempts - 1, 0), settings.tiers.count - 1)
        return max(ladder, settings.tiers.lastIndex { $0 <= wait } ?? 0)
    }

    /// Writes a held record to a retry topic.
    mutating func park(_ key: HeldKey, in tier: Int) {
        guard let record = held.removeValue(forKey: key) else { return }
        outbox.retries.append(.init(tier: tier, record: record.record, note: record.note))
        guard let state = partitions[key.partition] else { return }
        // Whoever sends it next does not know.
        if state.isDoubted(record, at: place(record.stream)) { possiblyTwice += 1 }
        state.orders[key.kind.index].put(key.source, of: record.record.device, at: .tier(tier))
        state.streams[place(record.stream)].finish(record.offset)
        // Whoever waited behind it waits in the same topic, and so behind it.
        while let next = state.orders[key.kind.index].successor(of: key.source, record.record.device),
            next.place == .held, held[key.with(next.offset)] != nil
        {
            park(key.with(next.offset), in: tier)
        }
    }

    /// The end of a record.
    ///
    /// - Parameter reason: the sender's own; nil: the last failure's.
    mutating func conclude(
        _ key: HeldKey, _ outcome: DeliveryOutcome, reason: String? = nil, providerID: String? = nil,
        evidence: WallTime? = nil, now: WallTime
    ) {
        guard let ended = held.removeValue(forKey: key) else { return }
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
        state.orders[key.kind.index].remove(key.source, of: record.device)
        state.streams[place(ended.stream)].finish(ended.offset)
        state.sends[key.kind.index].end(record.device)
        guard let next = state.orders[key.kind.index].first(of: record.device), next.place == .held else { return }
        let nextKey = key.with(next.offset)
        if held[nextKey]?.isQueued == false { enqueue(nextKey) }
    }

    private mutating func enqueue(_ key: HeldKey) {
        held[key]?.isQueued = true
        ready[key.kind.index].append(key)
    }

    /// What was to be sent already is the first of its kind again.
    mutating func enqueueFirst(_ key: HeldKey) { ready[key.kind.index].insert(key, at: 0) }
}
