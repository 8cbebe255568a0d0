import Notifications

@testable import KafkaClient
@testable import Sender

/// The log of one simulated process.
final class SimulatedReapLog: ReapLog {
    private unowned let world: ReapSimulation
    private var epoch = -1

    init(_ world: ReapSimulation) {
        self.world = world
    }

    /// Others act, and the process may die.
    private func pass() throws {
        world.meanwhile()
        guard !world.isQuiet, world.chance(5) else { return }
        world.crashes += 1
        throw ReapSimulation.Crash()
    }

    func committed() throws -> [Int32: CommittedOffset] {
        try pass()
        return world.group
    }

    func readDeliveries(
        from starts: [Int32: Int64], since time: WallTime, take: (DeliveryRecord, Int32, Int64, Bool) -> Void
    ) throws -> [Int32: Int64] {
        try pass()
        var ends: [Int32: Int64] = [:]
        for (partition, records) in world.deliveries.enumerated() {
            let start = Int(starts[Int32(partition)] ?? 0)
            let first = records.firstIndex { $0.lastSentAt ?? 0 >= time } ?? start
            for index in min(start, first)..<records.count {
                take(records[index], Int32(partition), Int64(index), index < start)
            }
            ends[Int32(partition)] = Int64(records.count)
        }
        return ends
    }

    func readSubscriptions(
        from starts: [Int32: Int64]?, _ filter: ReapFilter, take: (ConsumerRecord) -> Void
    ) throws -> [Int32: Int64] {
        var ends: [Int32: Int64] = [:]
        for partition in world.log.indices {
            // Each partition at another moment.
            try pass()
            guard let start = starts.map({ $0[Int32(partition)] }) ?? 0 else { continue }
            for record in world.readable(partition, from: start) {
                let key = record.key ?? []
                let isWanted =
                    switch filter {
                    case .devices(let isWanted):
                        key.withUnsafeBytes { DeviceHash(ofKey: $0) }.map(isWanted) ?? false
                    case .marked: record.headers.contains { $0.name == ReapMark.header }
                    case .keys(let keys): keys.contains(key)
                    }
                if isWanted { take(record) }
            }
            ends[Int32(partition)] = max(start, world.lastStable(partition))
        }
        return ends
    }

    func settleSubscriptions() throws {
        try pass()
        world.endTheirs()
        for (number, state) in world.states {
            switch state {
            case .prepared: world.end(number, .committed)
            case .open, .committed, .aborted: continue
            }
        }
    }

    func takeOver() throws {
        try pass()
        if let open = world.open { world.end(open.number, .aborted) }
        world.open = nil
        for (number, state) in world.states {
            switch state {
            case .prepared: world.end(number, .committed)
            case .open, .committed, .aborted: continue
            }
        }
        world.epoch += 1
        epoch = world.epoch
    }

    func commit(_ records: [ProducerRecord], _ offsets: [Int32: CommittedOffset]) throws {
        try pass()
        try checkEpoch()
        world.transactions += 1
        let number = world.transactions
        world.states[number] = .open
        world.open = (number, epoch)
        for record in records {
            world.append(
                record.key ?? [], record.value, record.headers, record.timestamp ?? world.now, number)
            try pass()
            try checkEpoch()
        }
        try loseAnswer()
        try checkEpoch()
        // The group has the offsets at once, the topic its markers later.
        world.group = offsets
        world.states[number] = .prepared
        world.open = nil
        if world.chance(50) { world.end(number, .committed) }
        try pass()
        try loseAnswer()
    }

    private func checkEpoch() throws {
        guard epoch != world.epoch else { return }
        throw KafkaError(kind: .fenced, recovery: .recreateClient, name: "", message: "fenced", operation: "")
    }

    private func loseAnswer() throws {
        guard !world.isQuiet, world.chance(3) else { return }
        world.lost += 1
        throw KafkaError(kind: .timedOut, recovery: .retry, name: "", message: "no answer", operation: "")
    }
}
