import Pipeline

extension LaneTenant {
    /// Looks at the credentials' files and tokens.
    mutating func tickCredentials(_ now: WallTime) {
        var changes: [(index: Int, isReady: Bool, isNew: Bool)] = []
        senders.tick(now: now) { changes.append(($0, $1, $2)) }
        for change in changes {
            core.setCredential(change.index, isReady: change.isReady, isNew: change.isNew, now: now)
        }
    }

    /// Takes what the providers have answered.
    mutating func takeAnswers(_ now: WallTime) {
        var results: [CredentialSender.Result] = []
        let meter = context.meter
        senders.takeResults(now: now) { sender, result in
            if result.verdict != nil {
                meter.answered(sender.credential.platform, status: result.status, duration: result.duration)
            }
            results.append(result)
        }
        for result in results {
            guard let verdict = result.verdict else {
                core.putBack(result.tag, now: now)
                continue
            }
            guard let credential = core.answer(result.tag, verdict, status: result.status, now: now) else { continue }
            let isReady = senders.refuseToken(of: result.tag, credential: credential, now: now)
            core.setCredential(credential, isReady: isReady, now: now)
        }
    }

    /// Sends what may be sent now.
    ///
    /// - Parameter instant: when it was `now`.
    mutating func send(_ now: WallTime, at instant: ContinuousClock.Instant) {
        senders.cancel(core.takeCancelled())
        if let view = context.broadcasts?.view {
            core.see(view, askedAt: view.freshSince.map { context.clock.now($0) })
        }
        if let view = context.control?.view {
            core.see(view, askedAt: view.freshSince.map { context.clock.now($0) }, now: now)
        }
        let requests = core.takeRequests(now: now)
        guard !requests.isEmpty else { return }
        for failure in senders.send(requests, now: now, at: instant) {
            if let problem = failure.problem {
                core.refuse(failure.tag, problem, now: now)
            } else {
                core.putBack(failure.tag, now: now)
            }
        }
    }
}
