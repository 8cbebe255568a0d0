import Notifications
import Pipeline

/// The decisions of one lane's process: what is sent, written and committed, and when. Deterministic: its clock is an
/// argument, and it does no I/O. One owner; not to be shared between threads.
///
/// The owner hands in records, answers and the ends of transactions, and takes requests (``takeRequests(now:)``) and
/// transactions (``takeTransaction(now:)``). What it must keep to:
/// - A partition's retry topics are recalled (``recall(_:of:_:at:device:)``) before its records are handed in.
/// - What is wanted (``nextWanted(of:_:from:)``) is read again and handed in by ``found(_:_:at:of:appendedAt:now:)``.
/// - Every request gets one answer, also one that was cancelled; answers to unknown tags are ignored.
/// - Nothing is sought back after an aborted transaction: what it wrote is in the next one.
package struct LaneCore {
    package private(set) var settings: LaneSettings
    var partitions: [Int32: LanePartition] = [:]
    var held: [HeldKey: HeldRecord] = [:]
    /// The bytes of what is held.
    var heldBytes = 0
    /// How many are to be read again, since it is their turn, and since they go on to a retry topic.
    var turnCount = 0
    var hopCount = 0
    /// What may be sent, in order, of each kind.
    var ready: [[HeldKey]] = PushKind.allCases.map { _ in [] }
    var inFlight: [UInt64: HeldKey] = [:]
    var broadcastsInFlight = 0
    var broadcasts = TopicSight<BroadcastView>()
    /// Nil where `topic.control` is not set.
    var control: TopicSight<ControlView>?
    var nextTag: UInt64 = 1
    var cancelled: [UInt64] = []

    /// What is written by the open transaction, and what the next one writes.
    var writing: LaneTransaction?
    var outbox = LaneTransaction()
    /// Nothing is sent until a transaction has committed that begins after the process was frozen.
    var mustCommit = false
    var mayClearMustCommit = false
    /// Whether something is ready that may be sent only when the next transaction has committed.
    var needsBound = false
    var lastTick: WallTime?

    var health = ProviderHealth()
    var pause: ProbedPause?
    var laneProbe: UInt64?
    /// After the first pause.
    var ramp: RampUp?
    var credentials: [LaneCredential]
    /// Whether requests have failed, and none was taken or refused since.
    var acceptsNothing = false

    /// The most requests that may have been sent twice.
    package internal(set) var possiblyTwice = 0

    package init(_ settings: LaneSettings) {
        self.settings = settings
        control = settings.isControlled ? TopicSight() : nil
        credentials = settings.credentials.indices.map { index in
            LaneCredential(bucket: settings.perMinute[index].map { TokenBucket(perMinute: $0, share: 0) })
        }
    }

    // MARK: Partitions

    /// The index of a topic among a partition's.
    func topicIndex(_ stream: LaneStream) -> Int { stream.index(tiers: settings.tiers.count) }

    /// How many partitions the dispatch topics have, which is known once the broker has answered.
    package mutating func setPartitions(_ count: Int32) { settings.partitions = count }

    /// A partition was assigned.
    ///
    /// - Parameters:
    ///   - committed: of each topic, in the order of ``LaneStream/all(of:tiers:)``.
    ///   - ends: the high watermarks of the same, asked for after the committed offsets were answered.
    package mutating func assign(_ partition: Int32, committed: [LaneOffset], ends: [Int64]) {
        partitions[partition] = LanePartition(committed: committed, ends: ends, window: settings.window)
        shareRates()
    }

    /// A record of a retry topic below its end at the assignment: who waits, and where.
    package mutating func recall(
        _ source: Int64, of partition: Int32, _ stream: LaneStream, at offset: Int64, device: DeviceOrder.Device
    ) {
        guard let tier = stream.tier, let state = partitions[partition],
            !state.committed[topicIndex(stream)].isFinished(offset)
        else { return }
        state.orders[stream.kind.index].put(source, of: device, as: .tier(tier))
    }

    /// All retry topics of the partition were recalled. Its records are handed in once a transaction has committed how far
    /// it may be sent.
    package mutating func recalled(_ partition: Int32) {
        guard partitions[partition]?.phase == .recalling else { return }
        partitions[partition]?.phase = .opening
    }

    /// A partition is to be given up: nothing of it is sent any more, answers are waited for. It has been given up when
    /// ``owns(_:)`` is false.
    package mutating func revoke(_ partition: Int32, now: WallTime) {
        switch partitions[partition]?.phase {
        case .active:
            partitions[partition]?.phase = .revoking(until: now + settings.lastAnswers)
            shareRates()
        // Nothing was sent.
        case .recalling, .opening: forget(partition)
        case .revoking, .closing, nil: break
        }
    }

    /// A partition is somebody else's already.
    package mutating func lose(_ partition: Int32) { forget(partition) }

    /// The requests to cancel: their answers are ignored.
    package mutating func takeCancelled() -> [UInt64] {
        defer { cancelled.removeAll(keepingCapacity: true) }
        return cancelled
    }

    package func owns(_ partition: Int32) -> Bool { partitions[partition] != nil }

    mutating func forget(_ partition: Int32) {
        cancelRequests(of: partition)
        turnCount -= partitions[partition]?.turns.reduce(0) { $0 + $1.count } ?? 0
        hopCount -= partitions[partition]?.hops.reduce(0) { $0 + $1.count } ?? 0
        partitions[partition] = nil
        shareRates()
        held = held.filter { $0.key.partition != partition }
        heldBytes = held.values.reduce(0) { $0 + $1.record.size }
        // If it is assigned again, what is in it waits for its device's older records again.
        for kind in ready.indices { ready[kind].removeAll { $0.partition == partition } }
        outbox.drop(partition)
        writing?.drop(partition)
    }

    /// This process's part of the rates is the part of the partitions that it sends, or is about to: those that it gives
    /// up are their next owner's.
    private mutating func shareRates() {
        let sending = partitions.values.count { $0.phase.maySend }
        let share = Double(sending) / Double(settings.partitions)
        for index in credentials.indices { credentials[index].bucket?.setShare(share) }
    }

    private mutating func cancelRequests(of partition: Int32) {
        for tag in inFlight.filter({ $0.value.partition == partition }).map(\.key).sorted() {
            _ = takeInFlight(tag)
            cancelled.append(tag)
            withdrawProbe(tag)
        }
    }

    // MARK: Time and pauses

    /// The clock has moved; to be called often. Ends what waited for its time.
    package mutating func tick(now: WallTime) {
        if let lastTick, now - lastTick > settings.frozenAfter {
            mustCommit = true
            mayClearMustCommit = false
        }
        lastTick = now
        for (partition, state) in partitions {
            guard case .revoking(let until) = state.phase else { continue }
            let open = inFlight.values.contains { $0.partition == partition }
            guard !open || now >= until else { continue }
            // What gets no answer may have been sent: that is not clean.
            cancelRequests(of: partition)
            partitions[partition]?.phase = .closing(isClean: !open)
        }
    }

    /// Whether a partition's topics with pushes of this kind are to be read now. Not while the lane is paused: its records
    /// wait in Kafka. Then only as much is read as a probe needs. Broadcasts stop at three quarters of what may be held, so
    /// that orders are always read.
    package func isReading(_ partition: Int32, _ kind: PushKind = .orders) -> Bool {
        guard partitions[partition]?.phase == .active, !mustCommit else { return false }
        switch (kind, isPaused) {
        case (.orders, true): return ready[kind.index].isEmpty && inFlight.isEmpty
        case (.broadcasts, true): return ready.allSatisfy(\.isEmpty) && inFlight.isEmpty
        case (.orders, false):
            return ready[kind.index].count < 2 * settings.inFlight && mayRead(4 * settings.inFlight)
        case (.broadcasts, false):
            return ready[kind.index].count < settings.inFlight && mayRead(3 * settings.inFlight)
        }
    }

    /// Whether there is such a partition.
    package func reads(_ kind: PushKind) -> Bool { partitions.keys.contains { isReading($0, kind) } }

    private func mayRead(_ most: Int) -> Bool { held.count + turnCount < most && heldBytes < mostBytes }

    /// How many pushes wait in Kafka behind others of their device: they were read, and are not in memory.
    private var waiting: Int {
        partitions.values.reduce(-held.count) { $1.streams.reduce($0) { $0 + $1.openCount } }
    }

    /// Whether nothing can be sent but probes: the provider fails, or each of its credentials is paused.
    package var isPaused: Bool {
        pause != nil
            || !settings.own.isEmpty
                && settings.own.allSatisfy { credentials[$0].pause != nil || credentials[$0].isHeld }
    }

    /// A credential has a token, or has none. A new file ends its pause.
    package mutating func setCredential(_ index: Int, isReady: Bool, isNew: Bool = false, now: WallTime) {
        credentials[index].isReady = isReady
        settleClock(now: now)
        if isNew, credentials[index].pause != nil { endPause(of: index, now: now) }
    }

    /// A request was not made after all: it waits as before.
    package mutating func putBack(_ tag: UInt64, now: WallTime) {
        guard let (key, _) = takeInFlight(tag) else { return }
        withdrawProbe(tag, now: now)
        enqueueFirst(key)
    }

    /// Whether something has to be committed before anything else can happen.
    package var isUrgent: Bool {
        mustCommit || needsBound
            || partitions.values.contains { state in
                switch state.phase {
                case .opening, .closing: true
                case .recalling, .active, .revoking: false
                }
            }
    }

    /// The partitions that this process owns.
    package var owned: [Int32] { partitions.keys.sorted() }

    /// The first offset of a topic's partition that is not finished; nil for one that is not owned.
    package func firstUnfinished(of stream: LaneStream, _ partition: Int32) -> Int64? {
        partitions[partition]?.streams[topicIndex(stream)].first
    }

    /// The first offset of a topic's partition that was not handed in; nil for one that is not owned.
    package func firstUnread(of stream: LaneStream, _ partition: Int32) -> Int64? {
        partitions[partition].map { max($0.streams[topicIndex(stream)].first, $0.streams[topicIndex(stream)].end) }
    }

    /// Whether nothing is held, to be written or to be ended.
    package var isIdle: Bool {
        held.isEmpty && !wantsAny && outbox.isEmpty && writing == nil && !mustCommit
            && partitions.values.allSatisfy { $0.phase == .active }
    }

    /// What a person is told of the lane.
    package var status: LaneStatus {
        LaneStatus(
            inFlight: inFlight.count, held: held.count, waiting: waiting,
            oldest: held.values.lazy.compactMap(\.record.appendedAt).min(), possiblyTwice: possiblyTwice,
            isPaused: pause != nil,
            pausedCredentials: credentials.indices.filter { credentials[$0].pause != nil }.map {
                settings.credentials[$0]
            },
            unready: credentials.indices.filter { !credentials[$0].isReady }.map { settings.credentials[$0] })
    }

    /// When a record of a retry topic is due.
    package func due(appendedAt: WallTime, tier: Int) -> WallTime { appendedAt + settings.tiers[tier] }
}

/// A credential of a lane.
struct LaneCredential {
    var bucket: TokenBucket?
    var pause: ProbedPause?
    var probe: UInt64?
    /// Whether it has a token.
    var isReady = true
    /// Whether an operator has paused it, or its provider.
    var isHeld = false
    /// The time in which its pushes can be sent.
    var clock = PauseClock()
    /// The kinds of which as many pushes wait for its rate as may be held.
    var full: Set<PushKind> = []
}

/// A moment's state of a lane, for monitoring.
package struct LaneStatus: Equatable, Sendable {
    package var inFlight: Int
    package var held: Int
    /// Those that were read and wait in Kafka, behind others of their device.
    package var waiting: Int
    /// When the oldest record that is held was appended to the dispatch topic.
    package var oldest: WallTime?
    package var possiblyTwice: Int
    package var isPaused: Bool
    /// Names of the credentials that are paused, and of those without a token.
    package var pausedCredentials: [String]
    package var unready: [String]
}
