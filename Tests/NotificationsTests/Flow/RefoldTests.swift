import CarillonTesting
import StageSupport
import TestSupport
import Testing

@testable import Notifications
@testable import Pipeline

@Suite("The state of orders is a fold, whoever folds it and whenever")
struct RefoldTests {
    private enum Trouble: CaseIterable {
        /// Dies after every commit, and folds the last two horizons.
        case crash
        /// The same, with the whole log.
        case crashFromStart
        /// Every transaction is aborted once, and done again.
        case abort
        /// Aborted, dead, and done again by the next process.
        case abortAndCrash
        /// Dies after every commit, and loads the checkpoint.
        case restart
    }

    @Test(
        "crash and refold at every step of a script gives the bytes, drops and reasons of the run without a crash",
        arguments: UInt64(0)..<10)
    func everyStep(seed: UInt64) throws {
        let calm = try checkEveryStep(of: Script(seed: seed), seed: seed)
        #expect(calm.timers > 0, "seed \(seed)")
    }

    @Test(
        "so it does where records come from the future and the past: what they count as is bounded by the clock",
        arguments: UInt64(0)..<10)
    func strangeTimes(seed: UInt64) throws {
        let script = Script(seed: seed, isStrange: true)
        #expect(script.log.contains { $0.timestamp == .distantFuture }, "seed \(seed)")
        let calm = try checkEveryStep(of: script, seed: seed)
        #expect(calm.timers > 0, "seed \(seed)")
    }

    @Test(
        "so it does where the orders exceed the limit of the state: what is forgotten follows from two horizons of the log",
        arguments: UInt64(0)..<15)
    func limit(seed: UInt64) throws {
        var script = Script(seed: seed)
        // Of nine.
        script.maxOrders = 4
        let calm = try checkEveryStep(of: script, seed: seed)
        #expect(calm.forgottenOrders > 10, "seed \(seed)")
    }

    /// - Returns: the counts of the run without trouble.
    private func checkEveryStep(of script: Script, seed: UInt64) throws -> Counts {
        var calm = try script.makeDriver()
        var states: [[OrderView]] = []
        for step in script.steps {
            try script.perform(step, on: &calm)
            states.append(calm.orderViews)
        }
        // Two kinds of trouble for each script: each kind meets two scripts of five.
        for (kind, trouble) in Trouble.allCases.enumerated() where (Int(seed) + kind) % 5 < 2 {
            var driver = try script.makeDriver()
            for (index, step) in script.steps.enumerated() {
                if trouble == .abort || trouble == .abortAndCrash {
                    try script.perform(step, on: &driver, aborts: true)
                }
                if trouble == .abortAndCrash { try driver.crash() }
                try script.perform(step, on: &driver)
                if trouble == .crash { try driver.crash() }
                if trouble == .crashFromStart { try driver.crash(fromStart: true) }
                if trouble == .restart { try driver.restart() }
                guard driver.orderViews == states[index] else {
                    Issue.record("seed \(seed), \(trouble): another state after step \(index)")
                    break
                }
            }
            let isSame =
                driver.output.records == calm.output.records && driver.output.dropped == calm.output.dropped
                && driver.output.suppressed == calm.output.suppressed && driver.committed == calm.committed
            #expect(isSame, "seed \(seed), \(trouble): another output")
            for drop in TimerDrop.allCases {
                #expect(driver.counts.dropped(drop) == calm.counts.dropped(drop), "seed \(seed), \(trouble), \(drop)")
            }
        }
        return calm.counts
    }

    @Test("what a commit splits off a batch is extracted again, with the clock of its own transaction")
    func splitBatch() throws {
        let morning = ScheduleDriver.morning
        var driver = try ScheduleDriver()
        for order in ["o1", "o2", "o3"] {
            driver.append(event(order, status: "pending", at: .distantFuture, occurred: morning))
        }
        var batch = driver.makeBatch(0..<3)
        var sink = RecordingSink()
        try driver.core.beginTransaction(clock: morning, boundsTimes: true)
        let end = driver.core.extract(&batch, from: 0)
        let emitted = try driver.core.emit(batch, 0..<end, limit: 1, into: &sink)
        driver.core.commit()
        let isTakenBack = driver.core.takesBackBoundedTimes()
        #expect(emitted == 1 && isTakenBack)
        #expect(driver.views.keys.sorted() == ["o1"])
        try driver.core.beginTransaction(clock: morning + ScheduleDriver.day, boundsTimes: true)
        _ = driver.core.extract(&batch, from: emitted)
        #expect(driver.core.orders.newest(in: 0) == morning + ScheduleDriver.day + ScheduleDriver.hour)
        _ = try driver.core.emit(batch, emitted..<3, limit: .max, into: &sink)
        #expect(driver.pushes.isEmpty && sink.records.count == 3)
    }

    @Test("the first record with a timestamp says since when orders are known, and an abort does not change it")
    func firstRecord() throws {
        let morning = ScheduleDriver.morning
        var driver = try ScheduleDriver()
        driver.core.orders.assign(0, watermark: 0, newest: 0, beginning: .sinceNextRecord)
        #expect(driver.core.orders.beginning(of: 0, newest: 0) == .sinceNextRecord)
        driver.append(event("o1", status: "pending", at: morning))
        driver.append(event("o2", status: "pending", at: morning + ScheduleDriver.hour))
        try driver.process(aborts: true)
        #expect(driver.core.orders.beginning(of: 0, newest: morning) == .since(morning))
        try driver.process()
        let end = morning + 2 * driver.orders.horizon.wholeMilliseconds
        #expect(driver.core.orders.beginning(of: 0, newest: end - 1) == .since(morning))
        #expect(driver.core.orders.beginning(of: 0, newest: end) == .complete)
        #expect(driver.core.orders.beginning(of: 7, newest: 0) == .complete)
    }
}

extension SeededGenerator {
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
    mutating func time(_ range: ClosedRange<Int64>) -> Int64 { Int64.random(in: range, using: &self) }
}

/// A log of a dozen orders over some days, and how it is worked off.
private struct Script {
    struct Step {
        var records: Int
        var tick: WallTime?
        var clock: WallTime?
        /// The clock of its transaction.
        var now: WallTime
    }

    private(set) var log: [SampleRecord] = []
    private(set) var steps: [Step] = []
    private let isStrange: Bool
    /// How many orders the state may have.
    var maxOrders: Int?

    /// - Parameter isStrange: some records have a time before or after all others. No order moves to another place then.
    init(seed: UInt64, isStrange: Bool = false) {
        self.isStrange = isStrange
        var random = SeededGenerator(seed: seed)
        var now = ScheduleDriver.morning
        var pending = 0
        for index in 0..<140 {
            now += random.time(0...(40 * ScheduleDriver.minute))
            if random.chance(3) { now += random.time(0...(2 * ScheduleDriver.day)) }
            log.append(record(index, at: now, &random))
            pending += 1
            guard random.chance(40) else { continue }
            var step = Step(records: random.chance(15) ? pending / 2 : pending, now: now)
            pending -= step.records
            if random.chance(70) {
                step.tick = now + random.time(-5 * ScheduleDriver.minute...10 * ScheduleDriver.minute)
                step.clock = step.tick! + (random.chance(20) ? random.time(0...ScheduleDriver.hour) : 0)
            }
            steps.append(step)
        }
        if isStrange { makeTimesStrange(seed: seed) }
    }

    private func record(
        _ index: Int, at now: WallTime, _ random: inout SeededGenerator
    ) -> SampleRecord {
        if random.chance(15), let again = log.suffix(60).randomElement(using: &random) {
            var again = again
            again.timestamp = now
            return again
        }
        let order = Int.random(in: 0..<9, using: &random)
        let statuses = ["pending", "pending", "processing", "picking", "picked", "cancelled", "completed", "odd"]
        let types = ["ORDER_CREATED", "ORDER_STATUS_CHANGED", "ORDER_STATUS_CHANGED", "TIMESLOT_STARTED"]
        let type = types.randomElement(using: &random)!
        let start = now + random.time(-2 * ScheduleDriver.hour...2 * ScheduleDriver.day) / 4
        let slot = (start - start.milliseconds % 300_000).iso8601
        let hasSlot = random.chance(50)
        let hasStatus = type == "ORDER_STATUS_CHANGED" || random.chance(60)
        return event(
            "o\(order)", type, status: hasStatus ? statuses.randomElement(using: &random) : nil,
            slot: !hasSlot
                ? nil : (random.chance(80) ? "\(slot.prefix(10)) " : "") + "\(slot.dropFirst(11).prefix(5))-23:30",
            at: random.chance(10) ? now - random.time(0...ScheduleDriver.day) : now,
            occurred: random.chance(15) ? now - random.time(0...ScheduleDriver.hour) : now,
            id: random.chance(80) ? "e\(index)" : nil, place: "p\(random.chance(90) || isStrange ? order % 3 + 1 : 2)",
            orderExtra: random.chance(20) ? #""order_date":"2025-07-09","parent_order_id":"P\#(index)""# : nil)
    }

    /// Gives some records a time before all others, and some that set neither slot nor date a time after all others.
    ///
    /// A fold from the log counts those as up to an hour earlier than the run does (ADR 51): no timer is due, and nothing
    /// expires, in that hour.
    private mutating func makeTimesStrange(seed: UInt64) {
        var random = SeededGenerator(seed: seed &+ 1_000)
        for index in log.indices.dropFirst() {
            if random.chance(5) { log[index].timestamp = WallTime(milliseconds: random.time(-1...100)) }
            let text = String(decoding: log[index].value ?? [], as: UTF8.self)
            if random.chance(20), !text.contains("start_time"), !text.contains("order_date") {
                log[index].timestamp = .distantFuture
            }
        }
    }

    func makeDriver() throws -> ScheduleDriver {
        var orders = OrderRules()
        orders.horizon = isStrange ? .days(30) : .seconds(86_400)
        orders.terminalRetention = isStrange ? .days(30) : .seconds(6 * 3_600)
        // An id has two bytes.
        if let maxOrders { orders.maxBytes = maxOrders * (OrderBlock.countedSize + 2) }
        orders.schedule?.spread = .seconds(60)
        var driver = try ScheduleDriver(
            orders: orders, zones: ["p1": "Europe/Berlin", "p2": "America/New_York", "p3": "Asia/Tokyo"])
        driver.log = log
        return driver
    }

    func perform(_ step: Step, on driver: inout ScheduleDriver, aborts: Bool = false) throws {
        driver.recordClock = isStrange ? step.now : nil
        try driver.process(step.records, tick: step.tick, clock: step.clock, aborts: aborts)
    }
}
