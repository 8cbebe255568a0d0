import Pipeline

extension LaneCore {
    /// What `topic.broadcasts` says now; to be called often. Broadcasts wait while it is too old.
    ///
    /// - Parameter askedAt: when the end that the view has reached was asked for; nil where it has reached none.
    package mutating func see(_ view: BroadcastView, askedAt: WallTime?) {
        broadcasts = TopicSight(view: view, askedAt: askedAt)
    }

    /// What `topic.control` says now; to be called often where it is set. Everything waits while it is too old.
    package mutating func see(_ view: ControlView, askedAt: WallTime?, now: WallTime) {
        control = TopicSight(view: view, askedAt: askedAt)
        guard askedAt != nil else { return }
        let isProviderHeld = view.isPaused(PauseTarget(settings.provider), at: now)
        for index in settings.own {
            let target = PauseTarget(settings.provider, credential: settings.credentials[index])
            let isHeld = isProviderHeld || view.isPaused(target, at: now)
            guard isHeld != credentials[index].isHeld else { continue }
            if isHeld {
                credentials[index].isHeld = true
                settleClock(now: now)
            } else {
                resume(credential: index, now: now) { $0.isHeld = false }
            }
        }
    }

    /// Whether enough is known to send pushes of a kind.
    private func isInformed(of kind: PushKind, now: WallTime) -> Bool {
        guard control?.isFresh(now: now) ?? true else { return false }
        switch kind {
        case .orders: return true
        case .broadcasts: return broadcasts.isFresh(now: now)
        }
    }

    /// The requests to send now, orders before broadcasts.
    package mutating func takeRequests(now: WallTime) -> [LaneRequest] {
        var requests: [LaneRequest] = []
        needsBound = false
        take(.orders, into: &requests, now: now)
        take(.broadcasts, into: &requests, now: now)
        return requests
    }

    /// The most requests in flight.
    private var slots: Int { min(settings.inFlight, ramp?.most ?? settings.inFlight) }

    /// The most requests of a kind in flight. Broadcasts never have the last quarter, so that an order finds a slot at
    /// once; while orders wait they have half.
    private func mostInFlight(_ kind: PushKind) -> Int {
        switch kind {
        case .orders: slots
        case .broadcasts: ready[PushKind.orders.index].isEmpty ? slots - slots / 4 : slots / 2
        }
    }

    private func isFull(_ kind: PushKind, most: Int) -> Bool {
        switch kind {
        case .orders: inFlight.count >= most
        case .broadcasts: inFlight.count >= slots || broadcastsInFlight >= most
        }
    }

    private mutating func take(_ kind: PushKind, into requests: inout [LaneRequest], now: WallTime) {
        for index in credentials.indices {
            credentials[index].bucket?.begin(kind)
            credentials[index].full.remove(kind)
        }
        let queue = kind.index
        guard !ready[queue].isEmpty, isInformed(of: kind, now: now) else { return }
        let most = mostInFlight(kind)
        var waiting: [HeldKey] = []
        var blocked = [Int](repeating: 0, count: credentials.count)
        var index = 0
        // What cannot be in flight now is not looked at: there may be thousands.
        while index < ready[queue].count, !isFull(kind, most: most) {
            let key = ready[queue][index]
            index += 1
            guard let record = held[key] else { continue }
            if record.record.expiresAt <= now {
                // What waits behind it is appended to the list.
                conclude(key, record.note.attempts == 0 ? .expired : .gaveUp, now: now)
                continue
            }
            if partitions[key.partition]?.isSuperseded(record) ?? false {
                conclude(key, .superseded, now: now)
                continue
            }
            if let id = record.record.requestID, control?.view.cancelled.contains(id, at: now) ?? false {
                conclude(key, .cancelled, now: now)
                continue
            }
            if isWithdrawn(record, now: now) {
                conclude(key, .cancelled, reason: LaneRecord.withdrawn, now: now)
                continue
            }
            if kind == .broadcasts {
                switch broadcasts.standing(of: record.record.broadcast, readAt: record.usedUntil) {
                case .current: break
                case .over:
                    conclude(key, .cancelled, now: now)
                    continue
                case .unknown:
                    waiting.append(key)
                    continue
                }
            }
            guard let credential = record.record.credential, let state = partitions[key.partition],
                state.phase == .active, !mustCommit, !isBusy(record.record, key, state), isCommitted(record, state)
            else {
                waiting.append(key)
                continue
            }
            if maySend(credential, kind, tag: nextTag, now: now) {
                send(key, record, credential, into: &requests, now: now)
                continue
            }
            blocked[credential] += 1
            if blocked[credential] > mostBlocked || keepsFromProbing(credential),
                let tier = makesWay(record, credential, now: now)
            {
                park(key, in: tier)
            } else {
                waiting.append(key)
            }
        }
        ready[queue].replaceSubrange(..<index, with: waiting)
        for index in settings.own where blocked[index] >= mostBlocked && mayUse(index) && hasOthers(index) {
            credentials[index].full.insert(kind)
        }
    }

    /// Whether its device has lost what it was written for.
    private func isWithdrawn(_ held: HeldRecord, now: WallTime) -> Bool {
        guard let withdrawn = control?.view.withdrawn, withdrawn.count > 0 else { return false }
        return withdrawn.covers(
            address: held.record.deviceHash, command: held.record.command, appended: held.note.appendedAt,
            lag: settings.tableLag, at: now
        ) { held.record.audience }
    }

    /// The most pushes of a kind that are held of a credential that cannot send, where there are others.
    private var mostBlocked: Int { max(settings.inFlight / max(settings.own.count, 1), 1) }

    /// Whether only its rate can hold a credential back.
    private func mayUse(_ credential: Int) -> Bool {
        pause == nil && credentials[credential].pause == nil && credentials[credential].isReady
            && !credentials[credential].isHeld
    }

    /// Whether a lane that reads only what it probes with has a push of a credential that must not be probed.
    private func keepsFromProbing(_ credential: Int) -> Bool { isPaused && credentials[credential].isHeld }

    /// Whether another credential sends, for which this one has to make way.
    private func hasOthers(_ credential: Int) -> Bool {
        settings.own.contains {
            $0 != credential && (mayUse($0) || keepsFromProbing(credential) && !credentials[$0].isHeld)
        }
    }

    /// The retry topic in which a push waits so that those of other credentials are read; nil where it makes way for none. One
    /// that comes back and still cannot be sent waits longer; for the rate alone it makes way once.
    private func makesWay(_ record: HeldRecord, _ credential: Int, now: WallTime) -> Int? {
        guard hasOthers(credential), record.stream.tier == nil || !mayUse(credential) else { return nil }
        return longestTier(within: record.record.expiresAt - now).map { min(tier(after: record.stream), $0) }
    }

    private mutating func send(
        _ key: HeldKey, _ record: HeldRecord, _ credential: Int, into requests: inout [LaneRequest], now: WallTime
    ) {
        inFlight[nextTag] = key
        record.isInFlight = true
        if let state = partitions[key.partition] {
            if state.isDoubted(record, at: topicIndex(record.stream)) { possiblyTwice += 1 }
            state.bounds[topicIndex(record.stream)].send(record.offset)
        }
        record.isSent = true
        if key.kind == .broadcasts { broadcastsInFlight += 1 }
        record.note.firstSentAt = record.note.firstSentAt ?? now
        record.note.lastSentAt = now
        requests.append(LaneRequest(tag: nextTag, record: record.record, credential: credential))
        nextTag += 1
    }

    /// A request is not in flight any more.
    mutating func takeInFlight(_ tag: UInt64) -> (key: HeldKey, record: HeldRecord)? {
        guard let key = inFlight.removeValue(forKey: tag) else { return nil }
        if key.kind == .broadcasts { broadcastsInFlight -= 1 }
        guard let record = held[key] else { return nil }
        record.isInFlight = false
        return (key, record)
    }

    /// Whether the group has that this record may be sent.
    private mutating func isCommitted(_ record: HeldRecord, _ state: LanePartition) -> Bool {
        let isCommitted =
            state.bounds[topicIndex(record.stream)].allows(record.offset)
            && state.sends[record.stream.kind.index].allows(record.record.device)
        if !isCommitted { needsBound = true }
        return isCommitted
    }

    /// Whether the device has a request of the other kind in flight.
    private func isBusy(_ record: LaneRecord, _ key: HeldKey, _ state: LanePartition) -> Bool {
        let other: PushKind =
            switch key.kind {
            case .orders: .broadcasts
            case .broadcasts: .orders
            }
        guard !state.orders[other.index].isEmpty, let first = state.orders[other.index].first(of: record.device),
            first.state == .held
        else { return false }
        return held[HeldKey(kind: other, partition: key.partition, source: first.offset)]?.isInFlight ?? false
    }

    /// Whether one more request may be sent; while something is paused, as its probe.
    private mutating func maySend(_ credential: Int, _ kind: PushKind, tag: UInt64, now: WallTime) -> Bool {
        guard credentials[credential].isReady, !credentials[credential].isHeld else { return false }
        // A probe of one must not be held back by the other's interval for ever: it needs both to be due.
        if let pause, pause.isProbing || now < (pause.probeAt ?? now) { return false }
        if let pause = credentials[credential].pause, pause.isProbing || now < (pause.probeAt ?? now) { return false }
        if credentials[credential].bucket?.take(kind, now: now) == false { return false }
        if pause?.beginProbe(now: now) == true { laneProbe = tag }
        if credentials[credential].pause?.beginProbe(now: now) == true { credentials[credential].probe = tag }
        return true
    }
}
