import Notifications

/// Why a device got a broadcast, or did not: from the records of its subscription and from the journal of their partition.
/// No I/O and no clock.
package struct BroadcastTrace {
    /// A record of the device's key.
    package struct Version: Equatable, Sendable {
        package var offset: Int64
        package var isLive: Bool
        /// Nil where the subscription does not say.
        package var lastSeen: WallTime?
        /// The record's own time, where its token takes the place of another one.
        package var rotatedAt: WallTime?

        package init(offset: Int64, isLive: Bool, lastSeen: WallTime? = nil, rotatedAt: WallTime? = nil) {
            self.offset = offset
            self.isLive = isLive
            self.lastSeen = lastSeen
            self.rotatedAt = rotatedAt
        }
    }

    /// What a pass, or a later joining, gave the device. Clocks are those of the transactions.
    package enum Fate: Equatable, Sendable {
        /// By the pass.
        case sent(clock: WallTime)
        /// In the transaction that read its joining.
        case sentLate(clock: WallTime)
        /// It is not subscribed, and was not when the pass began.
        case notSubscribed
        /// It unsubscribed before its turn: after the pass had begun, or after it had joined.
        case left(clock: WallTime)
        /// Last seen longer before the publication than is allowed.
        case stale(lastSeen: WallTime)
        /// The pass is to begin.
        case waiting
        /// The pass is under way.
        case notReached
        /// The pass ended before its turn.
        case ended(BroadcastJournalEntry.Slice.End, clock: WallTime)
        /// There was no pass.
        case skipped(BroadcastJournalEntry.Skipped.Reason)
        /// The group is past it without a pass: it was cancelled before, or the group began after it.
        case passed
        /// It joined, and that record is not read yet.
        case joiningNotRead
        /// When its joining was read the broadcast had expired.
        case joinedAfterExpiry(clock: WallTime)
        /// When its joining was read the broadcast was cancelled or replaced.
        case joinedAfterEnd(clock: WallTime)
        /// Its token took the place of another one, and the pass was over when that was read.
        case rotated(clock: WallTime)
        /// When its joining was read there were as many newer ones as a joiner gets.
        case beyondMostLate(clock: WallTime)

        /// Whether a record was written for the device.
        package var isSent: Bool {
            switch self {
            case .sent, .sentLate: true
            case .notSubscribed, .left, .stale, .waiting, .notReached, .ended, .skipped, .passed, .joiningNotRead,
                .joinedAfterExpiry, .joinedAfterEnd, .rotated, .beyondMostLate:
                false
            }
        }
    }

    /// The broadcast in question.
    package struct Subject: Equatable, Sendable {
        package var offset: Int64
        /// The record's own time.
        package var time: WallTime
        package var publishedAt: WallTime
        package var expiresAt: WallTime
        /// When it was cancelled or replaced; nil: it was not.
        package var endedAt: WallTime?

        package init(
            offset: Int64, time: WallTime, publishedAt: WallTime, expiresAt: WallTime, endedAt: WallTime?
        ) {
            self.offset = offset
            self.time = time
            self.publishedAt = publishedAt
            self.expiresAt = expiresAt
            self.endedAt = endedAt
        }
    }

    private struct Slice {
        var clock: WallTime
        /// The pass goes over the devices as they were below this offset.
        var from: Int64
        var slice: BroadcastJournalEntry.Slice
    }

    private let subject: Subject
    private let group: String
    private let partition: Int32
    /// The hash of the device's token, 32 bytes.
    private let device: [UInt8]
    /// In the order of their offsets.
    private let versions: [Version]
    /// The offsets of the records by which it has joined.
    private let joined: [Int64]
    /// In milliseconds.
    private let maxAge: Int64
    private var slices: [Slice] = []
    private var skipped: BroadcastJournalEntry.Skipped.Reason?
    /// By the offset of a joining, the clock of its transaction, what joiners of it got of the broadcast, the offset below
    /// which it knew who left, and whether the pass was under way.
    private var joinings: [Int64: (clock: WallTime, sent: Int, known: Int64, isUnderWay: Bool)] = [:]

    /// - Parameters:
    ///   - partition: of the subscriptions, where the device's key is.
    ///   - versions: all records of the key, in the order of their offsets.
    ///   - maxAge: `subscriptions.max-age`, in milliseconds.
    package init(
        _ subject: Subject, group: String, partition: Int32, device: [UInt8], versions: [Version], maxAge: Int64
    ) {
        self.subject = subject
        self.group = group
        self.partition = partition
        self.device = device
        self.versions = versions
        self.maxAge = maxAge
        var wasLive = false
        joined = versions.compactMap { version in
            defer { wasLive = version.isLive }
            return version.isLive && !wasLive ? version.offset : nil
        }
    }

    /// Takes an entry of the journal since the broadcast.
    package mutating func note(_ entry: BroadcastJournalEntry) {
        guard entry.group == group, let range = entry.ranges.first(where: { $0.partition == partition }) else { return }
        func isOfIt(_ subject: BroadcastJournalEntry.Subject) -> Bool {
            subject.partition == partition && subject.broadcast == self.subject.offset
        }
        for slice in entry.passes where isOfIt(slice.subject) {
            slices.append(Slice(clock: entry.clock, from: range.from, slice: slice))
        }
        for each in entry.skipped where each.partition == partition && each.broadcast == subject.offset {
            skipped = each.reason
        }
        let sent = entry.late.reduce(0) { isOfIt($1.subject) ? $0 + $1.sent : $0 }
        let isUnderWay = slices.last.map { $0.slice.end == nil } ?? false
        for offset in joined where range.from <= offset && offset < range.to {
            joinings[offset] = (entry.clock, sent, range.ahead ?? range.to, isUnderWay)
        }
    }

    /// What the pass gave it, then each later joining; never empty.
    ///
    /// - Parameter committed: what the group has of the partition, asked for before the journal was read.
    package func fates(committed: BroadcastOffset?) -> [Fate] {
        guard let joinedBelow = slices.first?.slice.joinedBelow else { return fatesWithoutPass(committed) }
        var fates: [Fate] = []
        if isLive(below: joinedBelow) { fates.append(fateInPass(joinedBelow)) }
        fates += joined.filter { $0 >= joinedBelow }.map(fate(ofJoiningAt:))
        return fates.isEmpty ? [.notSubscribed] : fates
    }

    private func fatesWithoutPass(_ committed: BroadcastOffset?) -> [Fate] {
        if let skipped { return [.skipped(skipped)] }
        guard let committed, committed.broadcast > subject.offset else {
            return versions.last?.isLive == true ? [.waiting] : [.notSubscribed]
        }
        let later = joined.filter { joinings[$0] != nil || $0 >= committed.offset }.map(fate(ofJoiningAt:))
        return later.isEmpty ? [joined.isEmpty ? .notSubscribed : .passed] : later
    }

    private func newest(below offset: Int64) -> Version? { versions.last { $0.offset < offset } }

    private func isLive(below offset: Int64) -> Bool { newest(below: offset)?.isLive ?? false }

    private func isStale(_ version: Version) -> Bool {
        version.lastSeen.map { subject.publishedAt - $0 > maxAge } ?? false
    }

    private func fateInPass(_ joinedBelow: Int64) -> Fate {
        guard let slice = slices.first(where: { covers($0.slice) }) else {
            let last = slices.first { $0.slice.end != nil }
            return last.flatMap { last in last.slice.end.map { .ended($0, clock: last.clock) } } ?? .notReached
        }
        guard let version = newest(below: slice.from), version.isLive,
            let since = joined.last(where: { $0 < slice.from }), since < joinedBelow
        else { return .left(clock: slice.clock) }
        if isStale(version), let seen = version.lastSeen { return .stale(lastSeen: seen) }
        return .sent(clock: slice.clock)
    }

    /// Whether a slice has looked at the device.
    private func covers(_ slice: BroadcastJournalEntry.Slice) -> Bool {
        if let before = slice.keyBefore, !before.lexicographicallyPrecedes(device) { return false }
        if let after = slice.keyAfter { return !after.lexicographicallyPrecedes(device) }
        return slice.end == .done
    }

    private func fate(ofJoiningAt offset: Int64) -> Fate {
        guard let joining = joinings[offset], let version = versions.first(where: { $0.offset == offset }) else {
            return .joiningNotRead
        }
        let hasLeft = versions.contains { !$0.isLive && offset < $0.offset && $0.offset < joining.known }
        if hasLeft { return .left(clock: joining.clock) }
        if isStale(version), let seen = version.lastSeen { return .stale(lastSeen: seen) }
        let isRotated = !joining.isUnderWay && version.rotatedAt.map { subject.time < $0 } ?? false
        if !isRotated, joining.sent > 0 { return .sentLate(clock: joining.clock) }
        if subject.expiresAt <= joining.clock { return .joinedAfterExpiry(clock: joining.clock) }
        if let endedAt = subject.endedAt, endedAt <= joining.clock { return .joinedAfterEnd(clock: joining.clock) }
        if isRotated { return .rotated(clock: joining.clock) }
        return .beyondMostLate(clock: joining.clock)
    }
}
