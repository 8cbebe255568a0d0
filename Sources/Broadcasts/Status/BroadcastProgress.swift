import Pipeline

/// How far a broadcast has got: from what the group has committed, and from its journal. No I/O and no clock.
package struct BroadcastProgress {
    /// What has become of it in a partition of the subscriptions.
    package enum Stage: Equatable {
        case waiting
        case underWay
        case ended(BroadcastJournalEntry.Slice.End)
        case skipped(BroadcastJournalEntry.Skipped.Reason)
        /// The group is past it, and no journal says more: it was cancelled before its turn, or the group has begun after
        /// it.
        case passed
    }

    private struct Pass {
        /// Counted when it began; nil if that is not in the journal.
        var devices: Int?
        var sent = 0
        var stale = 0
        var end: BroadcastJournalEntry.Slice.End?
    }

    package let partitions: Int
    private let offset: Int64
    private let group: String
    private let committed: [Int32: BroadcastOffset]
    private var passes: [Int32: Pass] = [:]
    private var skipped: [Int32: BroadcastJournalEntry.Skipped.Reason] = [:]
    /// When slices were sent, and how many pushes they were.
    private var slices: [(clock: WallTime, sent: Int)] = []
    /// Pushes to devices that joined later.
    package private(set) var late = 0

    /// - Parameters:
    ///   - offset: of the broadcast.
    ///   - group: that of `carillon broadcasts`.
    ///   - partitions: of the subscriptions.
    package init(offset: Int64, group: String, partitions: Int, committed: [Int32: BroadcastOffset]) {
        self.offset = offset
        self.group = group
        self.partitions = partitions
        self.committed = committed
    }

    /// Takes an entry of the journal. What the group has committed must not be newer than the journal that is noted.
    package mutating func note(_ entry: BroadcastJournalEntry) {
        guard entry.group == group else { return }
        for slice in entry.passes where slice.subject.broadcast == offset {
            var pass = passes[slice.subject.partition] ?? Pass()
            if let devices = slice.devices { pass.devices = devices }
            pass.sent += slice.sent
            pass.stale += slice.stale
            pass.end = slice.end ?? pass.end
            passes[slice.subject.partition] = pass
            if slice.sent > 0 { slices.append((entry.clock, slice.sent)) }
        }
        for each in entry.late where each.subject.broadcast == offset { late += each.sent }
        for each in entry.skipped where each.broadcast == offset { skipped[each.partition] = each.reason }
    }

    package func stage(of partition: Int32) -> Stage {
        if let pass = passes[partition] { return pass.end.map(Stage.ended) ?? .underWay }
        if let reason = skipped[partition] { return .skipped(reason) }
        guard let committed = committed[partition], committed.broadcast >= offset else { return .waiting }
        if committed.broadcast > offset { return .passed }
        return committed.pass == nil ? .waiting : .underWay
    }

    /// How many partitions are where.
    package struct Stages: Equatable {
        package var waiting = 0
        package var underWay = 0
        /// With a pass to its last device.
        package var done = 0
        /// Cancelled, replaced or expired during the pass, or not to be rendered.
        package var stopped = 0
        /// Skipped, or passed.
        package var without = 0
        /// Of those that are stopped or without a pass: where it had expired, and where it could not be sent.
        package var expired = 0
        package var failed = 0

        package var over: Int { done + stopped + without }
    }

    package var stages: Stages {
        (0..<Int32(partitions)).reduce(into: Stages()) { stages, partition in
            let stage = stage(of: partition)
            switch stage {
            case .waiting: stages.waiting += 1
            case .underWay: stages.underWay += 1
            case .ended(.done): stages.done += 1
            case .ended(.cancelled), .ended(.expired), .ended(.failed): stages.stopped += 1
            case .skipped, .passed: stages.without += 1
            }
            switch stage {
            case .ended(.expired), .skipped(.expired): stages.expired += 1
            case .ended(.failed), .skipped(.deadLetter): stages.failed += 1
            case .waiting, .underWay, .ended(.done), .ended(.cancelled), .passed: break
            }
        }
    }

    /// Pushes of the passes.
    package var reached: Int { passes.values.reduce(0) { $0 + $1.sent } }
    /// Devices that were last seen too long ago.
    package var stale: Int { passes.values.reduce(0) { $0 + $1.stale } }
    /// The devices of the passes that have begun.
    package var countedDevices: Int { passes.values.reduce(0) { $0 + ($1.devices ?? 0) } }
    /// Devices that unsubscribed before their pass came to them; of passes that are done.
    package var left: Int {
        passes.values.reduce(0) { sum, pass in
            guard pass.end == .done, let devices = pass.devices else { return sum }
            return sum + max(0, devices - pass.sent - pass.stale)
        }
    }

    /// The devices of partitions that wait, if they have as many as the others; nil where none has begun.
    package var waitingDevices: Int? {
        let counted = passes.values.filter { $0.devices != nil }.count
        guard stages.waiting > 0 else { return 0 }
        guard counted > 0 else { return nil }
        return countedDevices * stages.waiting / counted
    }

    /// The devices that are still to be reached; nil where that cannot be estimated.
    package var remaining: Int? {
        guard let waitingDevices else { return nil }
        return passes.values.reduce(waitingDevices) { sum, pass in
            pass.end == nil ? sum + max(0, (pass.devices ?? 0) - pass.sent - pass.stale) : sum
        }
    }

    /// Pushes a second in the last minute of what was sent; nil if that is one transaction, or longer ago than a minute.
    package func rate(now: WallTime) -> Double? {
        let minute: Int64 = 60_000
        guard let last = slices.map(\.clock).max(), now - last <= minute else { return nil }
        let recent = slices.filter { $0.clock > last - minute }
        guard let first = recent.map(\.clock).min(), last > first else { return nil }
        let sent = recent.reduce(0) { $1.clock > first ? $0 + $1.sent : $0 }
        return Double(sent) * 1_000 / Double(last - first)
    }
}
