import KafkaClient
import Notifications
import Pipeline

@testable import Sender
@testable import Streaming

extension LaneSimulation {
    /// One process does what it can at this time.
    mutating func step(_ index: Int) {
        if let until = processes[index].frozenUntil {
            guard now >= until else { return }
            processes[index].frozenUntil = nil
        }
        processes[index].core.tick(now: now)
        if !processes[index].stolen.isEmpty {
            // It does not know yet, and must not send before its transaction has told it.
            takeAnswers(index)
            if let stray = processes[index].core.takeRequests(now: now).first {
                problems.append("a frozen process sent \(stray.record.messageID)")
            }
            for partition in processes[index].stolen.sorted() {
                processes[index].core.lose(partition)
            }
            processes[index].core.aborted()
            processes[index].transaction = nil
            processes[index].stolen = []
        }
        if let readyAt = processes[index].credentialReadyAt, now >= readyAt {
            processes[index].credentialReadyAt = nil
            processes[index].core.setCredential(0, isReady: true, now: now)
        }
        takeAnswers(index)
        if let transaction = processes[index].transaction, now >= transaction.endsAt { endTransaction(index) }
        read(index)
        readAgain(index)
        look(index)
        send(index)
        noteDecisions(index)
        for tag in processes[index].core.takeCancelled() {
            unanswered += 1
            processes[index].forget(tag)
        }
        if processes[index].transaction == nil, let taken = processes[index].core.takeTransaction(now: now) {
            processes[index].transaction = (taken, now + Int64(Int.random(in: 5...120, using: &random)))
        }
    }

    /// Every outcome that any process came to, committed or not.
    mutating func noteDecisions(_ index: Int) {
        for outcome in processes[index].core.outbox.outcomes { decided.insert(id(outcome)) }
    }

    func id(_ record: LaneRecord) -> ID { ID(kind: record.kind, partition: record.partition, source: record.source) }

    func id(_ outcome: DeliveryRecord) -> ID {
        ID(
            kind: PushKind.allCases[Self.topics.firstIndex(of: outcome.topic) ?? 0], partition: outcome.partition,
            source: outcome.offset)
    }

    /// The process sees the broadcasts as they were some time ago; sometimes it sees nothing new for seconds.
    private mutating func look(_ index: Int) {
        guard now >= processes[index].nextSight else { return }
        processes[index].nextSight = now + (chance(3) ? 5_000 : 200)
        let askedAt = now - (rates.isQuiet ? 0 : Int64.random(in: 0..<400, using: &random))
        let known = broadcasts.prefix { $0.at <= askedAt }
        let records = known.enumerated().filter { $0.element.endedAt.map { $0 > askedAt } ?? true }.map {
            BroadcastRecord(offset: Int64($0.offset), timestamp: nil, key: [UInt8($0.offset % 256)], value: [])
        }
        processes[index].core.see(
            BroadcastView(records: records, reached: Int64(known.count)), askedAt: askedAt)
    }

    /// A broadcast's push is sent only if the broadcast was there at most a second ago.
    private func isOver(_ record: LaneRecord) -> Bool {
        guard record.kind == .broadcasts else { return false }
        guard let broadcast = record.broadcast else { return true }
        return broadcasts[Int(broadcast)].endedAt.map { now - $0 > 1_000 } ?? false
    }

    mutating func endTransaction(_ index: Int, fenced: Bool = false) {
        guard let (transaction, _) = processes[index].transaction else { return }
        processes[index].transaction = nil
        let commits = !fenced && !chance(8)
        let sent = transaction.commits.map { ($0.stream, $0.partition, Optional($0.offset)) }
        let before = found(sent)
        write(transaction, commits: commits)
        if !commits { aborts += 1 }
        hops += commits ? transaction.retries.count : 0
        if chance(10) {
            // As the worker decides where nobody answers.
            switch UnknownEnd(sent: Self.offsets(sent), before: before).outcome(found(sent)) {
            case .committed: processes[index].core.committed()
            case .aborted, .neither: processes[index].core.aborted()
            }
        } else if commits {
            processes[index].core.committed()
        } else {
            processes[index].core.aborted()
        }
    }

    private typealias Commits = [(stream: LaneStream, partition: Int32, offset: LaneOffset?)]

    /// What the group has of these.
    private func found(_ commits: Commits) -> [TopicPartition: CommittedOffset] {
        Self.offsets(
            commits.map { ($0.stream, $0.partition, group[Place(stream: $0.stream, partition: $0.partition)]) })
    }

    private static func offsets(_ commits: Commits) -> [TopicPartition: CommittedOffset] {
        var offsets: [TopicPartition: CommittedOffset] = [:]
        for commit in commits {
            offsets[TopicPartition(topic: "\(commit.stream)", partition: commit.partition)] = commit.offset.map {
                CommittedOffset(offset: Offset($0.offset), metadata: $0.metadata)
            }
        }
        return offsets
    }

    private mutating func takeAnswers(_ index: Int) {
        let due = processes[index].answers.filter { $0.at <= now }
        processes[index].answers.removeAll { $0.at <= now }
        for answer in due {
            processes[index].forget(answer.tag)
            switch answer.verdict {
            // What may not be tried before a time may have to wait once more.
            case .retry, .slowDown: failures += 2
            case .accepted, .refused, .deadDevice, .refreshCredential, .pauseCredential: break
            }
            if processes[index].core.answer(answer.tag, answer.verdict, status: answer.status, now: now) != nil {
                processes[index].credentialReadyAt = now + 300
            }
            noteDecisions(index)
        }
    }

    private mutating func read(_ index: Int) {
        for (place, start) in processes[index].positions.sorted(by: {
            ($0.key.partition, $0.key.stream.index(tiers: 3)) < ($1.key.partition, $1.key.stream.index(tiers: 3))
        }) {
            guard processes[index].core.owns(place.partition), owners[place.partition] == index else { continue }
            var position = start
            var count = 0
            let log = logs[place] ?? []
            while processes[index].core.isReading(place.partition, place.stream.kind), count < 5, position < log.count {
                guard let entry = log[Int(position)] else {
                    position += 1
                    continue
                }
                guard feed(entry, at: position, of: place, to: index) else { break }
                position += 1
                count += 1
            }
            // A record that is not due stops its topic.
            processes[index].positions[place] = position
            if processes[index].core.isReading(place.partition, place.stream.kind) {
                processes[index].core.reached(position, of: place.stream, place.partition)
            }
        }
    }

    /// Reads again what is wanted: some of it now.
    private mutating func readAgain(_ index: Int) {
        for place in logs.keys.sorted(by: {
            ($0.partition, $0.stream.index(tiers: 3)) < ($1.partition, $1.stream.index(tiers: 3))
        }) {
            guard processes[index].core.owns(place.partition), owners[place.partition] == index else { continue }
            var position: Int64 = 0
            while let offset = processes[index].core.nextWanted(of: place.stream, place.partition, from: position) {
                position = offset + 1
                if chance(40) { continue }
                guard let entry = logs[place]?[Int(offset)], entry.isOurs else {
                    problems.append("\(offset) of \(place.stream) is wanted, and is no record")
                    return
                }
                processes[index].core.found(
                    entry.record, entry.note, at: offset, of: place.stream, appendedAt: entry.appendedAt, now: now)
            }
        }
        checkMemory(processes[index].core)
    }

    /// What is held is bounded, of the lane and of each device.
    private mutating func checkMemory(_ core: LaneCore) {
        mostWaiting = max(mostWaiting, core.status.waiting)
        if core.held.count > 4 * core.settings.inFlight { problems.append("\(core.held.count) are held") }
        let devices = Dictionary(grouping: core.held.values) { "\($0.record.kind) \($0.record.device)" }
        if let most = devices.values.map(\.count).max(), most > LaneCore.mostOfDevice {
            problems.append("\(most) of a device are held")
        }
        for record in core.held.values {
            let (record, order) = (
                record.record, core.partitions[record.record.partition]?.orders[record.stream.kind.index]
            )
            let older = order?.count(before: record.source, record.device) ?? 0
            if let line = order?.line(of: record.device), (0..<older).contains(where: { line[$0].place != .held }) {
                problems.append("\(record.messageID) is held behind one that is not")
            }
        }
        let wanted = core.partitions.values.map { state in
            [state.turns, state.hops].map { $0.reduce(0) { $0 + $1.count } }
        }
        if core.turnCount != wanted.reduce(0, { $0 + $1[0] }) || core.hopCount != wanted.reduce(0, { $0 + $1[1] }) {
            problems.append("\(wanted) are wanted, \(core.turnCount) and \(core.hopCount) are counted")
        }
        let sizes = core.held.values.reduce(0) { $0 + $1.record.size }
        if core.heldBytes != sizes { problems.append("\(sizes) bytes are held, \(core.heldBytes) are counted") }
    }

    private mutating func feed(_ entry: Entry, at offset: Int64, of place: Place, to index: Int) -> Bool {
        switch place.stream {
        case .dispatch:
            guard entry.isOurs else {
                processes[index].core.reached(offset + 1, of: place.stream, place.partition)
                return true
            }
            return processes[index].core.dispatch(entry.record, now: now)
        case .tier(_, let tier):
            guard let note = entry.note else {
                problems.append("a retry without a note")
                return true
            }
            guard now >= processes[index].core.due(appendedAt: entry.appendedAt, tier: tier) else { return false }
            return processes[index].core.retry(
                entry.record, note, tier: tier, at: offset, appendedAt: entry.appendedAt, now: now)
        }
    }

    private mutating func send(_ index: Int) {
        noteDecisions(index)
        let before = processes[index].core.possiblyTwice
        var again = 0
        let isPaused = processes[index].core.isPaused
        let requests = processes[index].core.takeRequests(now: now)
        if isPaused, requests.count > 1 { problems.append("\(requests.count) were sent in a pause") }
        for request in requests {
            noteDecisions(index)
            let record = request.record
            let name = record.messageID
            if now >= record.expiresAt { problems.append("\(name) was sent after its expiry") }
            if !processes[index].inFlight.insert(record.device).inserted {
                problems.append("\(name) was sent while its device has a request in flight")
            }
            if isOver(record) { problems.append("\(name) was sent after its broadcast was over") }
            for older in sources
            where older.device == record.device && older.kind == record.kind && older.source < record.source
                && !decided.contains(id(older))
            {
                problems.append("\(name) was sent before \(older.messageID), which is older")
            }
            let assignment = assignments[record.partition, default: 0]
            if let sender = senders.removeValue(forKey: id(record)), sender != assignment { again += 1 }
            processes[index].tags[request.tag] = record.device
            answer(request, to: index)
        }
        let said = processes[index].core.possiblyTwice - before
        if said < again { problems.append("\(again) were sent by an earlier owner, \(said) were said") }
    }

    /// The provider's answer, drawn by rates; some never come, and of those some have arrived.
    private mutating func answer(_ request: LaneRequest, to index: Int) {
        let key = id(request.record)
        var delay = Int64(Int.random(in: 1...400, using: &random))
        var verdict = Verdict.accepted(providerID: nil)
        var status: Int? = 200
        if outage.contains(now) || chance(8) {
            (verdict, status) = (.retry(reason: "UNAVAILABLE", counts: true, after: chance(30) ? 1_500 : nil), 503)
        } else if chance(4) {
            (verdict, status) = (.slowDown(reason: "QUOTA_EXCEEDED", after: 3_000), 429)
        } else if chance(4) {
            let mayHaveArrived = chance(60)
            unanswered += mayHaveArrived ? 1 : 0
            if mayHaveArrived, chance(70) { accepted[key, default: 0] += 1 }
            (verdict, status) = (AttemptFailure.noAnswer(mayHaveArrived: mayHaveArrived).verdict, nil)
            delay = 1_500
        } else if chance(2) {
            (verdict, status) = (.refreshCredential(reason: "UNAUTHENTICATED"), 401)
        } else if chance(0.5) {
            (verdict, status) = (.pauseCredential(reason: "PERMISSION_DENIED"), 403)
        } else if chance(3) {
            (verdict, status) = (.refused(reason: "INVALID_ARGUMENT"), 400)
        } else if chance(3) {
            (verdict, status) = (.deadDevice(reason: "UNREGISTERED", .now), 404)
            dead.insert(key)
        } else {
            accepted[key, default: 0] += 1
        }
        switch verdict {
        // Its owner knows that it was not taken, and keeps it.
        case .refreshCredential, .pauseCredential: break
        case .accepted, .refused, .deadDevice, .retry, .slowDown:
            senders[key] = assignments[key.partition]
        }
        processes[index].answers.append(
            Answer(at: now + delay, tag: request.tag, verdict: verdict, status: status))
    }

    // MARK: What must hold

    /// Problems at the end of a run; empty if everything holds.
    func check() -> [String] {
        var found = problems
        var ends: [ID: Int] = [:]
        for outcome in outcomes {
            let key = id(outcome)
            ends[key, default: 0] += 1
            switch outcome.outcome {
            case .accepted: if accepted[key] == nil { found.append("\(outcome.messageID) is accepted, and was not") }
            case .deadDevice: if !dead.contains(key) { found.append("\(outcome.messageID) is dead, and is not") }
            case .expired: if outcome.attempts != 0 { found.append("\(outcome.messageID) expired after an attempt") }
            case .gaveUp:
                if outcome.attempts > 0, outcome.reason == nil {
                    found.append("\(outcome.messageID) is given up, and not why")
                }
            case .cancelled: if !wasOver(key) { found.append("\(outcome.messageID) is cancelled, and was not") }
            case .superseded: if !hasNewer(key) { found.append("\(outcome.messageID) is superseded by nothing") }
            case .refused: break
            }
        }
        for record in sources where ends[id(record)] != 1 {
            found.append("\(record.messageID) has \(ends[id(record)] ?? 0) outcomes")
        }
        let twice = accepted.values.reduce(0) { $0 + $1 - 1 }
        if twice > possiblyTwice { found.append("\(twice) were sent twice, at most \(possiblyTwice) were said") }
        return found
    }

    /// Whether there is a newer record of the device with the same collapse key.
    private func hasNewer(_ id: ID) -> Bool {
        guard let older = sources.first(where: { self.id($0) == id }), let collapse = older.collapse else {
            return false
        }
        return sources.contains {
            $0.kind == id.kind && $0.device == older.device && $0.source > id.source && $0.collapse == collapse
        }
    }

    private func wasOver(_ id: ID) -> Bool {
        guard id.kind == .broadcasts,
            let entry = logs[Place(stream: .dispatch(.broadcasts), partition: id.partition)]?[Int(id.source)]
        else { return false }
        return entry.record.broadcast.map { broadcasts[Int($0)].endedAt != nil } ?? true
    }

    var possiblyTwice: Int { retired + processes.reduce(0) { $0 + $1.core.possiblyTwice } }
    var sentTwice: Int { accepted.values.reduce(0) { $0 + $1 - 1 } }
}

extension LaneSimulation.Process {
    mutating func forget(_ tag: UInt64) {
        if let device = tags.removeValue(forKey: tag) { inFlight.remove(device) }
    }
}
