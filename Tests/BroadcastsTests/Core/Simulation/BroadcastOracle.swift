import Notifications

@testable import Broadcasts

/// Who was to get what, by the rules of broadcasts alone: from everything that was ever written to the logs, and from what
/// the group has committed. It shares no code with the core, and knows nothing of tables, stores and compaction.
struct BroadcastOracle {
    /// A device in a channel, from a record by which it became live to the one that removed it.
    struct Stay {
        var device: Int
        var channel: Int
        var joined: Int64
        var left = Int64.max
        /// When its token took the place of another one; nil: it did not.
        var rotated: WallTime?
        /// When it was last seen, from an offset on.
        var seen: [(offset: Int64, time: WallTime)]

        func lastSeen(below offset: Int64) -> WallTime { seen.last { $0.offset < offset }?.time ?? seen[0].time }
    }

    struct Push: Hashable {
        var transaction: Int
        var isLate: Bool
        var broadcast: Int64
        var device: Int
    }

    /// What a pass did in a partition, transaction by transaction.
    struct Slice: Hashable {
        var transaction: Int
        var partition: Int32
        var broadcast: Int64
    }

    typealias Move = (transaction: Int, before: BroadcastOffset, after: BroadcastOffset, known: Int64)

    let world: BroadcastSimulation
    let moves: [Int32: [Move]]
    private(set) var stays: [Int32: [Stay]] = [:]
    private(set) var expected: [Push: Int] = [:]
    private(set) var stale: [Slice: Int] = [:]
    /// Old broadcasts that were not sent because a token took the place of another one.
    private(set) var spared = 0
    private(set) var problems: [String] = []
    private var lists: [String: [Int64]] = [:]
    /// The numbers of devices by their hashes.
    let numbers: [String: Int]

    init(_ world: BroadcastSimulation) {
        self.world = world
        numbers = Dictionary(uniqueKeysWithValues: world.devices.map { ($0.hash, $0.number) })
        var moves: [Int32: [Move]] = [:]
        for (index, transaction) in world.transactions.enumerated() {
            for (partition, move) in transaction.moves {
                moves[partition, default: []].append((index, move.before, move.after, move.known))
            }
        }
        self.moves = moves
        for partition in 0..<world.size.partitions {
            let stays = Self.stays(world.subscriptions[Int(partition)].records)
            self.stays[partition] = stays
            expect(partition, stays)
        }
    }

    private static func stays(_ records: [SimulatedSubscriptions.Record]) -> [Stay] {
        var stays: [Stay] = []
        var open: [SimulatedSubscriptions.Key: Int] = [:]
        for (offset, record) in records.enumerated() where !record.isMalformed {
            let offset = Int64(offset)
            switch (open[record.key], record.seen) {
            case (nil, nil): continue
            case (nil, let seen?):
                open[record.key] = stays.count
                stays.append(
                    Stay(
                        device: record.key.device, channel: record.key.channel, joined: offset,
                        rotated: record.isRotation ? record.time : nil, seen: [(offset, seen)]))
            case (let index?, nil):
                stays[index].left = offset
                open[record.key] = nil
            case (let index?, let seen?): stays[index].seen.append((offset, seen))
            }
        }
        return stays
    }

    // MARK: What is to be sent

    private mutating func expect(_ partition: Int32, _ stays: [Stay]) {
        let moves = moves[partition] ?? []
        let passes = world.broadcasts.entries.filter { $0.audience != nil }.map { Pass(world, $0, partition, moves) }
        for stay in stays {
            var sent: [(transaction: Int, broadcast: Int64)] = []
            // Who is known to have left again gets nothing for having joined.
            if let move = moves.first(after: stay.joined), stay.left >= move.known {
                for broadcast in late(move, stay.channel)
                where !isStale(stay.seen[0].time, world.broadcasts.entries[Int(broadcast)]) {
                    // The pass that is under way when the transaction ends has the offset that it commits.
                    if let rotated = stay.rotated, broadcast != move.after.broadcast,
                        world.broadcasts.entries[Int(broadcast)].time < rotated
                    {
                        spared += 1
                        continue
                    }
                    expected[
                        Push(
                            transaction: move.transaction, isLate: true, broadcast: broadcast, device: stay.device),
                        default: 0] += 1
                    sent.append((move.transaction, broadcast))
                    noteLeaver(stay, of: partition, in: move.transaction)
                }
            }
            for pass in passes where pass.entry.audience == BroadcastSimulation.channel(stay.channel) {
                guard stay.joined < pass.start, let move = pass.move(world.devices[stay.device]),
                    stay.left >= move.before.offset, canSend(pass.entry, move.transaction)
                else { continue }
                let slice = Slice(transaction: move.transaction, partition: partition, broadcast: pass.entry.offset)
                if isStale(stay.lastSeen(below: move.before.offset), pass.entry) {
                    stale[slice, default: 0] += 1
                    continue
                }
                expected[
                    Push(
                        transaction: move.transaction, isLate: false, broadcast: pass.entry.offset,
                        device: stay.device), default: 0] += 1
                sent.append((move.transaction, pass.entry.offset))
            }
            // A stay never has a broadcast twice, and has them in the order of the log.
            for (one, next) in zip(sent, sent.dropFirst())
            where next.broadcast <= one.broadcast || next.transaction < one.transaction {
                problems.append("partition \(partition): \(next.broadcast) after \(one.broadcast) to \(stay)")
            }
        }
    }

    /// A transaction sends nothing to who left that long before it.
    private mutating func noteLeaver(_ stay: Stay, of partition: Int32, in transaction: Int) {
        let readable = world.subscriptions[Int(partition)].readable
        guard stay.left < readable.count else { return }
        let ago = world.transactions[transaction].clock - readable[Int(stay.left)]
        if ago > world.size.oldestLook {
            problems.append("transaction \(transaction) is to send to \(stay), which left \(ago) ms before")
        }
    }

    /// What a joiner of a transaction gets, unless it is stale.
    private mutating func late(_ move: Move, _ channel: Int) -> [Int64] {
        let below = move.after.broadcast + (move.after.pass == nil ? 0 : 1)
        let name = "\(move.transaction) \(below) \(channel)"
        if let list = lists[name] { return list }
        let valid = world.broadcasts.entries.filter { entry in
            entry.audience == BroadcastSimulation.channel(channel) && entry.offset < below
                && canSend(entry, move.transaction)
        }
        let list = valid.suffix(BroadcastSimulation.mostLate).map(\.offset)
        lists[name] = list
        return list
    }

    private func isStale(_ seen: WallTime, _ entry: TestBroadcasts.Entry) -> Bool {
        entry.time - seen > BroadcastSimulation.maxAge
    }

    /// Whether a broadcast is there and valid for a transaction.
    private func canSend(_ entry: TestBroadcasts.Entry, _ transaction: Int) -> Bool {
        let transaction = world.transactions[transaction]
        return entry.offset < transaction.view && entry.isValid(at: transaction.clock)
            && world.broadcasts.isNewest(entry, below: transaction.view)
    }
}

/// The pass of a broadcast over a partition, as the group has committed it.
private struct Pass {
    let entry: TestBroadcasts.Entry
    /// Who joined before belongs to it.
    let start: Int64
    private let moves: ArraySlice<BroadcastOracle.Move>

    init(
        _ world: BroadcastSimulation, _ entry: TestBroadcasts.Entry, _ partition: Int32,
        _ moves: [BroadcastOracle.Move]
    ) {
        self.entry = entry
        let begun = moves.firstIndex { move in
            move.after.broadcast > entry.offset || move.after.broadcast == entry.offset && move.after.pass != nil
        }
        let ended = moves.firstIndex { $0.after.broadcast > entry.offset }
        guard let begun else {
            (start, self.moves) = (-1, [])
            return
        }
        start = moves[begun].before.offset
        self.moves = moves[begun...(ended ?? moves.count - 1)]
    }

    /// The transaction that reached a device.
    func move(_ device: TestDevice) -> BroadcastOracle.Move? {
        moves.first { move in
            guard move.after.broadcast == entry.offset else { return true }
            guard let key = move.after.pass?.key else { return false }
            return !key.lexicographicallyPrecedes(device.hashBytes)
        }
    }
}

extension [BroadcastOracle.Move] {
    /// The first that took the record at an offset.
    fileprivate func first(after offset: Int64) -> Element? {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].after.offset > offset { high = middle } else { low = middle + 1 }
        }
        return low < count ? self[low] : nil
    }
}
