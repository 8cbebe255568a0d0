import Notifications

extension LaneCore {
    /// The answer to a request, or why there is none. An unknown tag, of a lost partition, is ignored.
    ///
    /// - Parameter status: HTTP's; nil without an answer.
    /// - Returns: the credential that needs a new token: it sends nothing until ``setCredential(_:isReady:isNew:now:)``.
    package mutating func answer(_ tag: UInt64, _ verdict: Verdict, status: Int?, now: WallTime) -> Int? {
        guard let (key, record) = takeInFlight(tag), let index = record.record.credential else { return nil }
        let kind = status.map(AnswerKind.init(status:)) ?? .failed
        credentials[index].bucket?.answered(kind, now: now)
        ramp?.answered(kind)
        judge(tag, kind, of: record, now: now)
        judge(tag, verdict, of: index, now: now)
        noteAcceptance(verdict, now: now)
        record.note.status = status ?? record.note.status
        record.note.reason = verdict.reason
        count(record, now: now)
        switch verdict {
        case .accepted(let providerID):
            record.note.attempts += 1
            conclude(key, .accepted, providerID: providerID, now: now)
        case .deadDevice(_, let evidence):
            record.note.attempts += 1
            switch evidence {
            case .now: conclude(key, .deadDevice, evidence: now, now: now)
            // A provider's clock may be ahead: it cannot know it before it answers.
            case .at(let time): conclude(key, .deadDevice, evidence: min(time, now), now: now)
            }
        case .refused:
            record.note.attempts += 1
            conclude(key, .refused, now: now)
        case .retry(_, let counts, let after, let advised):
            if counts { record.note.attempts += 1 }
            if status == nil, counts { possiblyTwice += 1 }
            again(key, after: after, advised: advised, now: now)
        case .slowDown(_, let after, let advised):
            record.note.attempts += 1
            again(key, after: after, advised: advised, now: now)
        case .refreshCredential(let reason):
            guard !record.isRefreshed else {
                pauseCredential(index, reason, now: now)
                enqueueFirst(key)
                return nil
            }
            record.isRefreshed = true
            credentials[index].isReady = false
            enqueueFirst(key)
            return index
        case .pauseCredential(let reason):
            pauseCredential(index, reason, now: now)
            enqueueFirst(key)
        }
        return nil
    }

    /// The request could not be made of this record: it is refused.
    package mutating func refuse(_ tag: UInt64, _ problem: MessageProblem, now: WallTime) {
        guard let (key, _) = takeInFlight(tag) else { return }
        withdrawProbe(tag, now: now)
        conclude(key, .refused, reason: problem.rawValue, now: now)
    }

    /// Adds the time since the last count, without pauses.
    private func count(_ record: HeldRecord, now: WallTime) {
        record.note.used += unpaused(record.record, from: record.usedUntil, to: now)
        record.usedUntil = now
    }

    func unpaused(_ record: LaneRecord, from start: WallTime, to now: WallTime) -> Int64 {
        record.credential.map { credentials[$0].clock.unpaused(from: start, to: now) } ?? 0
    }

    /// Waits for another attempt: by the ladder, but no longer than the push lives. Advice that would cost it its only
    /// other attempt is not followed.
    private mutating func again(_ key: HeldKey, after: Int64?, advised: Int64, now: WallTime) {
        guard let record = held[key] else { return }
        let left = record.record.expiresAt - now
        let tried = min(left, settings.longestTry - record.note.used)
        let wait = max(after ?? 0, advised < tried ? advised : 0)
        guard record.note.used < settings.longestTry, wait < left,
            let longest = longestTier(within: left)
        else {
            conclude(key, .gaveUp, now: now)
            return
        }
        let tier = min(tier(attempts: record.note.attempts, wait: max(wait, min(advised, tried))), longest)
        if wait > settings.tiers[tier] { record.note.notBefore = now + wait }
        park(key, in: tier)
    }

    // MARK: Pauses

    private mutating func judge(_ tag: UInt64, _ kind: AnswerKind, of record: HeldRecord, now: WallTime) {
        let fails = health.record(kind, of: record.record.device, sentAt: record.note.lastSentAt ?? now, now: now)
        if tag == laneProbe {
            laneProbe = nil
            switch kind {
            case .failed: pause?.failed(now: now)
            case .answered, .throttled:
                pause = nil
                health.reset()
                settleClock(now: now)
                for index in credentials.indices { credentials[index].bucket?.restart(now: now) }
                ramp = RampUp()
            }
        } else if fails, pause == nil {
            pause = .lane(now: now)
            settleClock(now: now)
        }
    }

    /// From a failure until anybody's push is taken or refused, time is no push's own.
    private mutating func noteAcceptance(_ verdict: Verdict, now: WallTime) {
        switch verdict {
        case .accepted, .deadDevice, .refused: acceptsNothing = false
        case .retry, .slowDown: acceptsNothing = true
        // The credential pauses, or gets a new token.
        case .refreshCredential, .pauseCredential: return
        }
        settleClock(now: now)
    }

    /// The time counts for a push while requests with its credential can be sent and are accepted.
    mutating func settleClock(now: WallTime) {
        for index in credentials.indices {
            let credential = credentials[index]
            let canSend = pause == nil && credential.pause == nil && credential.isReady && !credential.isHeld
            if canSend, !acceptsNothing {
                credentials[index].clock.end(now: now)
            } else {
                credentials[index].clock.begin(now: now)
            }
        }
    }

    private mutating func judge(_ tag: UInt64, _ verdict: Verdict, of index: Int, now: WallTime) {
        guard credentials[index].probe == tag else { return }
        credentials[index].probe = nil
        switch verdict {
        case .pauseCredential, .refreshCredential: credentials[index].pause?.failed(now: now)
        // It shows nothing about the credential.
        case .retry: credentials[index].pause?.withdraw(now: now)
        case .accepted, .deadDevice, .refused, .slowDown: endPause(of: index, now: now)
        }
    }

    private mutating func pauseCredential(_ index: Int, _ reason: String, now: WallTime) {
        guard credentials[index].pause == nil else { return }
        credentials[index].pause = .credential(reason, now: now)
        settleClock(now: now)
    }

    /// The provider accepts a credential again.
    mutating func endPause(of index: Int, now: WallTime) {
        resume(credential: index, now: now) { credential in
            credential.pause = nil
            credential.probe = nil
        }
    }

    /// A credential sends again: its rate begins at zero, and if nothing was sent meanwhile, so does the lane.
    mutating func resume(credential index: Int, now: WallTime, _ end: (inout LaneCredential) -> Void) {
        if isPaused { ramp = RampUp() }
        end(&credentials[index])
        settleClock(now: now)
        credentials[index].bucket?.restart(now: now)
    }

    mutating func withdrawProbe(_ tag: UInt64, now: WallTime? = nil) {
        let now = now ?? lastTick ?? .epoch
        if tag == laneProbe {
            laneProbe = nil
            pause?.withdraw(now: now)
        }
        for index in credentials.indices where credentials[index].probe == tag {
            credentials[index].probe = nil
            credentials[index].pause?.withdraw(now: now)
        }
    }
}
