import Notifications

@testable import Broadcasts

extension BroadcastOracle {
    /// What is wrong.
    func check() -> [String] {
        var problems = problems
        problems += wrongPushes()
        for (index, transaction) in world.transactions.enumerated() {
            problems += oldKnowledge(transaction).map { "transaction \(index): \($0)" }
            problems += lateCancels(transaction).map { "transaction \(index): \($0)" }
            for pushes in [transaction.passes, transaction.late] {
                problems += wrongOrder(pushes).map { "transaction \(index): \($0)" }
            }
            problems += wrongJournal(index, transaction).map { "transaction \(index): \($0)" }
        }
        problems += wrongLetters() + world.unfinished
        return problems
    }

    /// What was sent and was not to be, or the other way.
    private func wrongPushes() -> [String] {
        var found: [Push: Int] = [:]
        for (index, transaction) in world.transactions.enumerated() {
            for (isLate, pushes) in [(false, transaction.passes), (true, transaction.late)] {
                for push in pushes {
                    found[
                        Push(
                            transaction: index, isLate: isLate, broadcast: push.broadcast,
                            device: numbers[push.device] ?? -1), default: 0] += 1
                }
            }
        }
        guard found != expected else { return [] }
        return Set(found.keys).union(expected.keys).filter { found[$0] != expected[$0] }
            .sorted { $0.transaction < $1.transaction }
            .map { "\($0) was sent \(found[$0] ?? 0) times instead of \(expected[$0] ?? 0)" }
    }

    /// A device of a channel gets what it gets in the order of the log.
    private func wrongOrder(_ pushes: [RecordedPushes.Push]) -> [String] {
        var latest: [[String?]: Int64] = [:]
        return pushes.compactMap { push in
            let device = [push.device, world.broadcasts.entries[Int(push.broadcast)].audience]
            let before = latest.updateValue(push.broadcast, forKey: device) ?? -1
            return push.broadcast < before ? "\(push) comes after \(before)" : nil
        }
    }

    // MARK: Time

    /// What a transaction goes by is what could be read when it began, give or take a second; the logs say since when.
    private func oldKnowledge(_ transaction: SimulatedTransaction) -> [String] {
        let (clock, second) = (transaction.clock, Int64(1_000))
        let written = world.broadcasts.entries
        let mostLate = world.size.isFaulty ? 90_000 : second
        var problems: [String] = []
        if clock > transaction.appended || transaction.appended - clock > mostLate {
            problems.append("it began at \(clock), and was written at \(transaction.appended)")
        }
        if written.prefix(Int(transaction.view)).contains(where: { $0.time > transaction.appended })
            || written.dropFirst(Int(transaction.view)).contains(where: { $0.time < clock - second })
        {
            problems.append("its view of the broadcasts ends at \(transaction.view)")
        }
        for (number, move) in transaction.moves {
            let log = world.subscriptions[Int(number)]
            let known = log.end(at: clock - world.size.oldestLook)
            // What is taken later than a moment after the clock was not looked at.
            if move.after.offset > max(move.before.offset, log.end(at: clock + second)) {
                problems.append("it took \(number) up to \(move.after.offset), long after it began")
            }
            if move.known > log.end(at: transaction.appended) {
                problems.append("it knows more of \(number) than there is")
            }
            if transaction.entry.late.contains(where: { $0.subject.partition == number }), move.known < known {
                problems.append("it sends to joiners in \(number), and has looked up to \(move.known), not \(known)")
            }
            let hasSent = transaction.entry.passes.contains { $0.subject.partition == number && $0.sent > 0 }
            if hasSent, move.before.offset < log.end(at: clock - second) {
                problems.append("a pass goes over \(number) as of \(move.before.offset), not \(known)")
            }
        }
        return problems
    }

    /// A transaction sends nothing that was cancelled or replaced a second before it.
    private func lateCancels(_ transaction: SimulatedTransaction) -> [String] {
        let sent = Set((transaction.passes + transaction.late).map(\.broadcast))
        return sent.compactMap { offset in
            let entries = world.broadcasts.entries
            let end = entries[Int(offset) + 1..<entries.count].first { $0.id == entries[Int(offset)].id }
            guard let end, end.time + 1_000 <= transaction.clock else { return nil }
            return "it sends \(offset), which \(end.offset) ended \(transaction.clock - end.time) ms before"
        }
    }

    // MARK: The journal

    private func wrongJournal(_ index: Int, _ transaction: SimulatedTransaction) -> [String] {
        let entry = transaction.entry
        var problems: [String] = []
        let ranges = transaction.moves.sorted { $0.key < $1.key }.map { number, move in
            BroadcastJournalEntry.Range(
                topic: "subscriptions", partition: number, from: move.before.offset, to: move.after.offset,
                ahead: move.known > move.after.offset ? move.known : nil)
        }
        if entry.ranges != ranges { problems.append("its ranges are \(entry.ranges) instead of \(ranges)") }
        if entry.clock != transaction.clock || entry.broadcasts != transaction.view {
            problems.append("its clock or its view is wrong")
        }
        let passes = counts(transaction.passes)
        let late = counts(transaction.late)
        let sent = Dictionary(entry.passes.map { ($0.subject.partitionBroadcast, $0.sent) }, uniquingKeysWith: +)
        if passes != sent.filter({ $0.value > 0 }) {
            problems.append("its passes have \(entry.passes), and \(passes) were sent")
        }
        if late != Dictionary(entry.late.map { ($0.subject.partitionBroadcast, $0.sent) }, uniquingKeysWith: +) {
            problems.append("its joiners have \(entry.late), and \(late) were sent")
        }
        for slice in entry.passes {
            let key = Slice(
                transaction: index, partition: slice.subject.partition, broadcast: slice.subject.broadcast)
            if slice.stale != stale[key] ?? 0 { problems.append("\(slice) instead of \(stale[key] ?? 0) stale") }
            problems += wrongSlice(slice, transaction)
        }
        return problems
    }

    private func wrongSlice(_ slice: BroadcastJournalEntry.Slice, _ transaction: SimulatedTransaction) -> [String] {
        guard let move = transaction.moves[slice.subject.partition] else { return ["\(slice) is of no range"] }
        let offset = slice.subject.broadcast
        let continued = move.before.broadcast == offset ? move.before.pass : nil
        var problems: [String] = []
        if slice.keyBefore != continued?.key { problems.append("\(slice) begins elsewhere") }
        if slice.joinedBelow != continued?.joinedBelow ?? move.before.offset {
            problems.append("\(slice) has another s")
        }
        let isUnderWay = move.after.broadcast == offset && move.after.pass != nil
        if isUnderWay != (slice.end == nil) || slice.keyAfter != (isUnderWay ? move.after.pass?.key : nil) {
            problems.append("\(slice) ends elsewhere")
        }
        let channel = world.broadcasts.entries[Int(offset)].audience
        let devices = stays[slice.subject.partition]?.count {
            BroadcastSimulation.channel($0.channel) == channel && $0.joined < move.before.offset
                && $0.left >= move.before.offset
        }
        if slice.devices != (continued == nil ? devices : nil) {
            problems.append("\(slice) instead of \(devices ?? 0) devices")
        }
        return problems
    }

    private func counts(_ pushes: [RecordedPushes.Push]) -> [PartitionBroadcast: Int] {
        var counts: [PartitionBroadcast: Int] = [:]
        for push in pushes {
            let channel = world.broadcasts.entries[Int(push.broadcast)].audience?.dropFirst("channel/".count)
            let key = SimulatedSubscriptions.Key(
                device: numbers[push.device] ?? -1, channel: channel.flatMap { Int($0) } ?? -1)
            counts[PartitionBroadcast(partition: world.partition(key), broadcast: push.broadcast), default: 0] += 1
        }
        return counts
    }

    // MARK: The end

    /// A broadcast that cannot be read is one dead letter, of the first partition.
    private func wrongLetters() -> [String] {
        var found: [Int64: Int] = [:]
        for letter in world.transactions.flatMap(\.letters) { found[letter, default: 0] += 1 }
        var expected: [Int64: Int] = [:]
        for entry in world.broadcasts.entries where entry.kind == .unreadable {
            guard let move = moves[0]?.first(where: { $0.after.broadcast > entry.offset }) else { continue }
            let transaction = world.transactions[move.transaction]
            let left = entry.time + BroadcastSimulation.retention - transaction.clock
            // One that is deleted in that moment may have been read before.
            if abs(left) < 2_000 { expected[entry.offset] = found[entry.offset] }
            if left >= 2_000, world.broadcasts.isNewest(entry, below: transaction.view) { expected[entry.offset] = 1 }
        }
        return found == expected ? [] : ["the dead letters are \(found) instead of \(expected)"]
    }
}

/// A broadcast in a partition.
struct PartitionBroadcast: Hashable {
    var partition: Int32
    var broadcast: Int64
}

extension BroadcastJournalEntry.Subject {
    fileprivate var partitionBroadcast: PartitionBroadcast {
        PartitionBroadcast(partition: partition, broadcast: broadcast)
    }
}
