import CarillonTesting
import Foundation
import NotificationPayload
import StageSupport
import TestSupport
import Testing

@testable import Notifications
@testable import Pipeline

/// Several workers over several partitions: transactions that commit, abort or die at every point, partitions that move,
/// checkpoints that lag, ticks that race the backlog. What they committed is compared with ``NaiveOrders``, which folds the
/// journal in the plainest way.
@Suite("A seeded simulation of workers, crashes and moving partitions")
struct SimulationTests {
    /// 500, or as many as `CARILLON_SIMULATION_SEEDS` says.
    private static let seeds =
        ProcessInfo.processInfo.environment["CARILLON_SIMULATION_SEEDS"].flatMap { UInt64($0) } ?? 500

    /// Each argument takes every twentieth seed, so that the cores share them.
    @Test(
        "each timer at most once, never early, none for a picked order, each missing one with its reason",
        arguments: UInt64(0)..<20)
    func simulate(first: UInt64) throws {
        for seed in stride(from: first, to: Self.seeds, by: 20) {
            var simulation = try Simulation(seed: seed)
            try simulation.run()
            for problem in simulation.problems() { Issue.record("seed \(seed): \(problem)") }
        }
    }
}

/// What an event says, besides its bytes.
struct EventFacts {
    var order: String
    var type: EventType
    var status: String?
    /// When its slot starts.
    var start: WallTime?
    var id: String?
    var occurred: WallTime
}

/// One run.
private struct Simulation {
    struct Transaction {
        var from: Int
        var to: Int
        var watermark: TimerWatermark
        var until: WallTime
        var clock: WallTime
        var pushes: [String]
        var timers: [String]
        var drops: [String]
    }

    struct Position {
        var offset = 0
        var watermark: TimerWatermark
        /// T of the transaction's tick.
        var until: WallTime = 0
        var newest: WallTime = 0
    }

    final class Worker {
        var core: Flow
        /// What its disk holds, by partition.
        var checkpoints: [Int: (offset: Int, blocks: [OrderKey: [UInt8]])] = [:]
        var owned: [Int: Position] = [:]
        var ticks: [Int: (time: WallTime, end: Int)] = [:]

        init(core: consuming Flow) { self.core = core }
    }

    private var random: SeededGenerator
    private let configuration: PipelineConfiguration
    private let table = SubscriptionTable.inMemory()
    private let memory = Memory()
    private var clock = ScheduleDriver.morning
    private var logs: [[(record: SampleRecord, facts: EventFacts)]]
    private var committed: [Position]
    private var journal: [[Transaction]]
    private var workers: [Worker] = []
    private var eventNumber = 0

    init(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let partitions = Int.random(in: 2...4, using: &random)
        var orders = OrderRules()
        orders.schedule?.maxLateness = .seconds(600)
        configuration = try ScheduleDriver.configuration(orders)
        logs = Array(repeating: [], count: partitions)
        committed = Array(repeating: Position(watermark: TimerWatermark(clock)), count: partitions)
        journal = Array(repeating: [], count: partitions)
        self.random = random
        for place in ["p1", "p2"] { try table.subscribe(.to(place, "token-\(place)")) }
        for _ in 0..<Int.random(in: 2...4, using: &random) { workers.append(Worker(core: try makeCore())) }
        for partition in 0..<partitions {
            try assign(partition, to: workers[partition % workers.count])
        }
    }

    private func makeCore() throws -> Flow { try Flow(configuration, recipients: .table(table)) }

    mutating func run() throws {
        for _ in 0..<40 {
            clock +=
                random.chance(10) ? random.time(0...ScheduleDriver.hour) : random.time(0...4 * ScheduleDriver.minute)
            for _ in 0..<Int.random(in: 0...3, using: &random) { produce() }
            let worker = workers.randomElement(using: &random)!
            if random.chance(12) {
                try movePartition()
            } else if random.chance(8) {
                try crash(worker)
            } else {
                try work(worker)
            }
        }
        // Everything that is left, until the last timer is over.
        for _ in 0..<12 {
            clock += 20 * ScheduleDriver.minute
            for worker in workers { try work(worker, isCalm: true) }
        }
    }

    private mutating func produce() {
        let order = Int.random(in: 0..<8, using: &random)
        let partition = order % logs.count
        eventNumber += 1
        if random.chance(12), let again = logs[partition].suffix(12).randomElement(using: &random) {
            var again = again
            again.record.timestamp = clock
            logs[partition].append(again)
            return
        }
        let types: [(String, EventType)] = [
            ("ORDER_CREATED", .orderCreated), ("ORDER_STATUS_CHANGED", .orderStatusChanged),
            ("ORDER_STATUS_CHANGED", .orderStatusChanged), ("UNPICKED_ORDERS_REMINDER", .unpickedOrdersReminder),
        ]
        let (name, type) = types.randomElement(using: &random)!
        let statuses = ["pending", "pending", "pending", "processing", "picked", "cancelled", "collected"]
        let status = statuses.randomElement(using: &random)!
        var facts = EventFacts(
            order: "o\(order)", type: type, status: status, start: nil, id: random.chance(85) ? "e\(eventNumber)" : nil,
            occurred: random.chance(10) ? clock - random.time(0...ScheduleDriver.hour) : clock)
        var slot: String?
        if random.chance(60) {
            let around = clock + random.time(-10 * ScheduleDriver.minute...90 * ScheduleDriver.minute)
            let start = around - around.milliseconds % 300_000
            let text = start.iso8601
            slot = "\(text.prefix(10)) \(text.dropFirst(11).prefix(5))-23:30"
            facts.start = start
        }
        let record = event(
            facts.order, name, status: status, slot: slot, at: clock, occurred: facts.occurred, id: facts.id,
            place: "p\(order % 2 + 1)")
        logs[partition].append((record, facts))
    }

    // MARK: What a worker does

    private enum Ending: CaseIterable {
        case commits, aborts, diesBefore, diesAfter
        /// The commit worked, and the worker does not know it.
        case unknown
    }

    private mutating func work(_ worker: Worker, isCalm: Bool = false) throws {
        guard !worker.owned.isEmpty else { return }
        var sink = RecordingSink()
        var positions = worker.owned
        let ending = isCalm || random.chance(75) ? .commits : Ending.allCases.randomElement(using: &random)!
        try worker.core.beginTransaction(clock: 0, boundsTimes: false)
        try read(worker, &positions, &sink, all: isCalm || random.chance(40))
        try fireTicks(worker, &positions, &sink, all: isCalm)
        worker.core.endTransaction()
        switch ending {
        case .aborts:
            worker.core.rollBack()
            worker.ticks = [:]
            return
        case .diesBefore:
            return try crash(worker)
        case .commits, .diesAfter, .unknown:
            break
        }
        write(worker.owned, positions, sink)
        switch ending {
        case .diesAfter:
            try crash(worker)
        case .unknown:
            worker.core.rollBack()
            try rejoin(worker)
        default:
            worker.core.commit()
            worker.owned = positions
            if random.chance(30) { checkpoint(worker) }
        }
    }

    /// Some of what there is in the worker's partitions, as one batch.
    private mutating func read(
        _ worker: Worker, _ positions: inout [Int: Position], _ sink: inout RecordingSink,
        all: Bool
    ) throws {
        var batch = EventBatch(.orders, topic: "orders.events")
        for partition in positions.keys.sorted() {
            let rest = logs[partition].count - positions[partition]!.offset
            let count = all ? rest : Int.random(in: 0...max(0, rest), using: &random)
            for _ in 0..<count {
                let record = logs[partition][positions[partition]!.offset].record
                memory.append(
                    record, partition: Int32(partition), offset: Int64(positions[partition]!.offset), to: &batch)
                positions[partition]!.offset += 1
                positions[partition]!.newest = max(positions[partition]!.newest, record.time)
            }
        }
        var next = 0
        while next < batch.records.count {
            let extracted = worker.core.extract(&batch, from: next)
            next = try worker.core.emit(batch, next..<extracted, limit: .max, into: &sink)
        }
    }

    /// A tick queries the end first, and fires in the transaction that has reached it.
    private mutating func fireTicks(
        _ worker: Worker, _ positions: inout [Int: Position], _ sink: inout RecordingSink, all: Bool
    ) throws {
        for partition in positions.keys.sorted() {
            if worker.ticks[partition] == nil, worker.core.orders.nextDue(in: Int32(partition)) <= clock {
                worker.ticks[partition] = (clock, logs[partition].count)
            }
            guard let tick = worker.ticks[partition], positions[partition]!.offset >= tick.end else { continue }
            let question = Tick(
                partition: Int32(partition), time: tick.time, clock: clock, offset: Int64(positions[partition]!.offset))
            let slice = TickSlice(maxTimers: !all && random.chance(40) ? Int.random(in: 1...2, using: &random) : .max)
            positions[partition]!.watermark = try worker.core.fire(question, slice, into: &sink)
            positions[partition]!.until = tick.time
            // What is left of it goes in a later transaction, at the same T, with whatever events come in between.
            if positions[partition]!.watermark >= TimerWatermark(tick.time) { worker.ticks[partition] = nil }
        }
    }

    private mutating func write(
        _ before: [Int: Position], _ after: [Int: Position], _ sink: RecordingSink
    ) {
        for (partition, position) in after {
            let start = before[partition]!
            let own = sink.records.filter {
                $0.header("source")!.split(separator: "/")[1] == "\(partition)"
            }
            journal[partition].append(
                Transaction(
                    from: start.offset, to: position.offset, watermark: position.watermark, until: position.until,
                    clock: clock,
                    pushes: own.filter { $0.header("source")!.hasPrefix("orders") }.map { Self.push($0) },
                    timers: own.filter { $0.header("source")!.hasPrefix("schedule") }.map {
                        "\(Self.push($0)) \($0.header("message-id")!.dropFirst(4).prefix(13))"
                    },
                    drops: sink.dropped.filter { Int($0.partition) == partition }.map(\.description).sorted()))
            committed[partition] = position
        }
    }

    private static func push(_ record: RecordedRecord) -> String {
        "\(record.field("order_id")) \(record.field("event_type")) \(record.field("previous_status"))"
    }

    // MARK: What goes wrong

    private mutating func crash(_ worker: Worker) throws {
        let lost = Array(worker.owned.keys).sorted()
        worker.core = try makeCore()
        worker.owned = [:]
        worker.ticks = [:]
        // It comes back, or others take over.
        for partition in lost {
            try assign(partition, to: random.chance(50) ? worker : workers.randomElement(using: &random)!)
        }
    }

    private mutating func rejoin(_ worker: Worker) throws {
        let owned = worker.owned.keys.sorted()
        worker.ticks = [:]
        for partition in owned { try foldOn(partition, of: worker, from: worker.owned[partition]!.offset) }
    }

    private mutating func movePartition() throws {
        let from = workers.randomElement(using: &random)!
        guard let partition = from.owned.keys.sorted().randomElement(using: &random) else { return }
        from.core.orders.revoke(Int32(partition))
        from.owned[partition] = nil
        from.ticks[partition] = nil
        try assign(partition, to: workers.randomElement(using: &random)!)
    }

    private func checkpoint(_ worker: Worker) {
        for (partition, position) in worker.owned {
            var saved = worker.checkpoints[partition] ?? (0, [:])
            worker.core.orders.states.takeChanges(of: Int32(partition)) { key, block in
                saved.blocks[key] = block.map { Array($0) }
            }
            saved.offset = position.offset
            worker.checkpoints[partition] = saved
        }
    }

    /// From the worker's checkpoint, if it has one, else from two horizons back.
    private mutating func assign(_ partition: Int, to worker: Worker) throws {
        worker.core.orders.assign(Int32(partition), watermark: committed[partition].watermark, newest: 0)
        var start = 0
        if let saved = worker.checkpoints[partition], saved.offset <= committed[partition].offset, random.chance(80) {
            for block in saved.blocks.values {
                let isBlock = block.withUnsafeBytes { worker.core.orders.states.load($0, into: Int32(partition)) }
                #expect(isBlock)
            }
            start = saved.offset
        } else {
            worker.checkpoints[partition] = nil
        }
        worker.core.orders.states.trackChanges(of: Int32(partition))
        try foldOn(partition, of: worker, from: start)
    }

    private mutating func foldOn(_ partition: Int, of worker: Worker, from start: Int) throws {
        var next = start
        while next < committed[partition].offset {
            var batch = EventBatch(.orders, topic: "orders.events")
            let end = min(committed[partition].offset, next + Int.random(in: 1...5, using: &random))
            for offset in next..<end {
                memory.append(
                    logs[partition][offset].record, partition: Int32(partition), offset: Int64(offset), to: &batch)
            }
            worker.core.refold(&batch)
            next = end
        }
        worker.core.orders.resume(Int32(partition), watermark: committed[partition].watermark)
        worker.owned[partition] = committed[partition]
    }

    // MARK: What must hold

    func problems() -> [String] {
        var problems: [String] = []
        var told: Set<String> = []
        for partition in logs.indices {
            var naive = NaiveOrders(watermark: ScheduleDriver.morning)
            var offset = 0
            var watermark = TimerWatermark(ScheduleDriver.morning)
            for transaction in journal[partition] {
                if transaction.from != offset {
                    problems.append("partition \(partition): a gap before \(transaction.from)")
                }
                offset = transaction.to
                let expected = naive.run(
                    logs[partition][transaction.from..<transaction.to].map { ($0.record.time, $0.facts) },
                    reaching: .init(w: transaction.watermark.time, p: transaction.watermark.splitText),
                    until: transaction.until, clock: transaction.clock)
                if expected.pushes != transaction.pushes {
                    problems.append(
                        "pushes of \(transaction.from)..<\(transaction.to): \(transaction.pushes) for \(expected.pushes)"
                    )
                }
                if expected.timers != transaction.timers {
                    problems.append("timers at \(transaction.watermark): \(transaction.timers) for \(expected.timers)")
                }
                if expected.drops.sorted() != transaction.drops {
                    problems.append("drops at \(transaction.watermark): \(transaction.drops) for \(expected.drops)")
                }
                for timer in transaction.timers where !told.insert(timer).inserted {
                    problems.append("twice: \(timer)")
                }
                if transaction.until > transaction.clock || transaction.watermark < watermark {
                    problems.append("early, or back: \(transaction.watermark) at \(transaction.clock.milliseconds)")
                }
                watermark = transaction.watermark
            }
            if offset != logs[partition].count {
                problems.append("partition \(partition): \(offset) of \(logs[partition].count) events")
            }
            problems += naive.forgotten(at: clock)
        }
        return problems
    }
}
