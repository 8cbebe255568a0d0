import KafkaClient
import Notifications

@testable import Broadcasts
@testable import Streaming

extension SimulatedWorker {
    func work(fails: Bool) throws {
        try refoldOldTables()
        faults.left = fails ? Int.random(in: 0..<30, using: &world.random) : nil
        faults.error = world.chance(50) ? Died() : Aborted()
        do {
            try transact(fails: fails)
            faults.left = nil
            try keepTables(fails: fails)
        } catch is Died {
            world.note("died")
            try die()
        } catch is Aborted {
            world.note("aborted")
            core.aborted()
        }
        faults.left = nil
    }

    private func refoldOldTables() throws {
        let old = core.partitions.values.filter {
            world.now - $0.table.time > SimulatedSubscriptions.deleteRetention / 2
        }
        world.note("tables that stood still", old.count)
        try startAgain(old.map(\.number).sorted())
    }

    private func transact(fails: Bool) throws {
        let clock = world.now
        look(at: clock)
        var sink = SimulatedSink(faults: faults)
        try sendPasses(clock, &sink)
        sink.isLate = true
        try lookAhead(clock)
        try take(clock)
        try faults.step()
        try core.sendLate(into: &sink)
        try faults.step()
        let origin = BroadcastJournalEntry(group: "g", cluster: nil, dispatch: "d", rules: "r")
        guard let (offsets, entry) = core.finish(clock: clock, oldest: clock - 120_000, origin: origin) else {
            return
        }
        try faults.step()
        let isUnknown = fails && world.chance(30)
        // An unknown end is the one or the other.
        let isCommitted = try (!isUnknown || world.chance(50)) && commit(offsets, entry, sink, clock)
        guard isUnknown else { return isCommitted ? try committed() : try fenced() }
        world.note(isCommitted ? "unknown, committed" : "unknown, aborted")
        try decide(offsets)
    }

    /// A view that has reached an end that was asked for less than a second before.
    private func look(at clock: WallTime) {
        let asked = clock - .random(in: 0..<1_000, using: &world.random)
        let end = world.broadcasts.entries.prefix { $0.time <= asked }.count
        view = max(view, Int64(end))
        core.update(
            world.broadcasts.records(below: view, since: clock - BroadcastSimulation.retention), reached: view)
    }

    private func sendPasses(_ clock: WallTime, _ sink: inout SimulatedSink) throws {
        var budget = Int.random(in: 1...world.size.mostRecords, using: &world.random)
        for partition in core.owned where core.isBusy(partition) {
            let end = world.subscriptions[Int(partition)].end(
                at: clock - .random(in: 0..<1_000, using: &world.random))
            guard let position = core.position(partition), position >= end else { continue }
            try core.send(partition, clock: clock, budget: &budget, into: &sink)
            try faults.step()
        }
    }

    /// As far as what was there less than a second before.
    private func lookAhead(_ clock: WallTime) throws {
        for partition in core.owned {
            let log = world.subscriptions[Int(partition)]
            let end = log.end(at: clock - .random(in: 0..<1_000, using: &world.random))
            var next = core.ahead(partition) ?? end
            while let offset = log.next(from: next), offset < end {
                next = offset + 1
                try apply(partition, offset) { record, _ in core.look(ahead: record) }
            }
            core.looked(ahead: end, of: partition)
        }
    }

    private func take(_ clock: WallTime) throws {
        for partition in core.owned {
            var left = world.chance(80) ? Int.max : Int.random(in: 0..<4, using: &world.random)
            while left > 0, core.hasRoom, let position = core.position(partition) {
                guard let offset = world.subscriptions[Int(partition)].next(from: position) else {
                    core.reached(world.subscriptions[Int(partition)].end, of: partition)
                    break
                }
                left -= 1
                try apply(partition, offset) { record, time in
                    try core.take(record, timestamp: time, clock: clock)
                }
                if left % 4 == 0 { try faults.step() }
            }
        }
    }

    // MARK: Its end

    /// - Returns: false if the process was fenced.
    private func commit(
        _ offsets: [Int32: BroadcastOffset], _ entry: BroadcastJournalEntry, _ sink: SimulatedSink, _ clock: WallTime
    ) throws -> Bool {
        guard offsets.keys.allSatisfy({ world.owners[$0] == number && isCurrent($0) }) else { return false }
        var moves: [Int32: SimulatedTransaction.Move] = [:]
        for (partition, offset) in offsets {
            guard
                let before = world.group[partition].flatMap({
                    BroadcastOffset(offset: $0.offset, metadata: $0.metadata)
                })
            else { continue }
            moves[partition] = .init(
                before: before, after: offset,
                known: max(offset.offset, core.partitions[partition]?.ahead ?? 0))
            world.group[partition] = (offset.offset, offset.metadata)
        }
        world.transactions.append(
            SimulatedTransaction(
                clock: clock, view: view, moves: moves, passes: sink.passes.pushes, late: sink.late.pushes,
                letters: sink.passes.letters.compactMap { $0["__connect.errors.offset"].flatMap(Int64.init) },
                entry: entry))
        return true
    }

    /// Whether nobody else has committed for the partition since it was opened: the group's generation.
    private func isCurrent(_ partition: Int32) -> Bool {
        let known = core.committed(partition)
        return known?.metadata == world.group[partition]?.metadata && known?.offset == world.group[partition]?.offset
    }

    private func committed() throws {
        // The broker has it: nothing but a death can keep the process from knowing.
        do { try faults.step() } catch { throw Died() }
        core.committed()
    }

    /// Its partitions are others' by now.
    private func fenced() throws {
        world.note("fenced")
        core.aborted()
        try startAgain(core.owned)
    }

    private func decide(_ sent: [Int32: BroadcastOffset]) throws {
        func offsets(_ all: [Int32: (offset: Int64, metadata: String)]) -> [TopicPartition: CommittedOffset] {
            var offsets: [TopicPartition: CommittedOffset] = [:]
            for (number, each) in all {
                offsets[TopicPartition(topic: "subscriptions", partition: number)] = CommittedOffset(
                    offset: Offset(each.offset), metadata: each.metadata)
            }
            return offsets
        }
        var before: [Int32: (offset: Int64, metadata: String)] = [:]
        for number in sent.keys { before[number] = core.committed(number).map { ($0.offset, $0.metadata) } }
        let end = UnknownEnd(sent: offsets(sent.mapValues { ($0.offset, $0.metadata) }), before: offsets(before))
        switch end.outcome(offsets(world.group)) {
        case .committed: core.committed()
        case .aborted: core.aborted()
        case .neither: try fenced()
        }
    }

    private func keepTables(fails: Bool) throws {
        for (number, partition) in core.partitions.sorted(by: { $0.key < $1.key }) {
            if partition.committed.offset >= world.subscriptions[Int(number)].end { partition.table.time = world.now }
            if world.chance(20) {
                try faults.step()
                try partition.table.flush(at: partition.committed.offset)
                if fails, world.chance(10) { throw Died() }
            }
        }
    }
}
