import KafkaClient
import Pipeline
import TestSupport
import Testing

@testable import Replay

/// ADR 67: the log alone says how far a run came.
@Suite("Sending again")
struct ResendTests {
    /// A topic, and what a run does to it.
    private final class Log {
        enum Fault {
            case lost, takenOver, stopped
            case unknown(isWritten: Bool)
        }

        var records: [Int] = []
        /// Of the next transactions; nil: it is written.
        var faults: [Fault?] = []
        var refused: Set<Int> = []
        var transactions: [[Int]] = []
    }

    private struct Plan: ResendPlan {
        var remaining: Int
        var done: Int
    }

    private enum Reason { case late }

    /// The numbers below a count that the log does not have.
    private struct Numbers: ~Copyable, ResendSession {
        let log: Log
        var left: [Int]
        var seen: Set<Int> = []
        var late: Set<Int> = []
        var looks = 0

        init(_ count: Int, _ log: Log) {
            self.log = log
            left = Array(0..<count)
        }

        mutating func plan() -> Plan {
            let count = left.count
            left.removeAll { log.records.contains($0) }
            return Plan(remaining: left.count, done: count - left.count)
        }

        func next(limit: Int) -> [Int] { Array(left.prefix(limit)) }
        mutating func settle(_ items: ArraySlice<Int>) { left.removeFirst(items.count) }
        mutating func look(tell: ResendProducer.Tell) {
            looks += 1
            seen = Set(log.records)
        }
        func verdict(on item: Int, now: WallTime) -> ResendVerdict<Reason> {
            seen.contains(item) ? .sent : late.contains(item) ? .leaveOut(.late) : .send
        }
        func record(of item: Int) -> ResendRecord { ("t", ProducerRecord(key: nil, value: Array("\(item)".utf8))) }
    }

    private struct Writer: ~Copyable, ResendWriter {
        let log: Log
        let id = "x"
        var mustStop = false
        let tell: ResendProducer.Tell = { _ in }

        mutating func send(_ records: [ResendRecord]) throws -> Bool {
            let numbers = records.compactMap { Int(String(decoding: $0.record.value ?? [], as: UTF8.self)) }
            if !numbers.isEmpty { log.transactions.append(numbers) }
            if !log.refused.isDisjoint(with: numbers) {
                throw RecordRefused(
                    error: KafkaError(
                        kind: .other, recovery: .giveUp, name: "", message: "refused", operation: "produce"))
            }
            switch log.faults.isEmpty ? nil : log.faults.removeFirst() {
            case nil:
                log.records += numbers
                return true
            case .lost: return false
            case .unknown(let isWritten):
                if isWritten { log.records += numbers }
                return false
            case .takenOver: throw ResendTakenOver(id: "x")
            case .stopped: throw ReplayStopped()
            }
        }

        mutating func wait(until time: ContinuousClock.Instant) {}
    }

    private func run(
        _ session: inout Numbers, _ log: Log, rate: Int = 4
    ) throws -> ResendTally<Int, Reason> {
        let plan = session.plan()
        var tally = ResendTally<Int, Reason>(sent: plan.done)
        var writer = Writer(log: log)
        try session.send(&tally, with: &writer, pace: Pace(perSecond: rate), clock: { 0 })
        return tally
    }

    @Test("each item is sent once, in order, a second's worth in one transaction, with a look before each")
    func sends() throws {
        let log = Log()
        var session = Numbers(10, log)
        let tally = try run(&session, log)
        #expect(log.records == Array(0..<10) && tally.sent == 10 && tally.settled == 10)
        #expect(log.transactions.map(\.count) == [4, 4, 2] && session.looks == 3)
        var most = Numbers(12_000, Log())
        _ = try run(&most, most.log, rate: 1_000_000)
        #expect(most.log.transactions.map(\.count) == [5_000, 5_000, 2_000])
    }

    @Test("after a transaction with an unknown end the log says whether it is sent again", arguments: [false, true])
    func unknown(isWritten: Bool) throws {
        let log = Log()
        log.faults = [nil, .unknown(isWritten: isWritten), .lost, .unknown(isWritten: isWritten)]
        var session = Numbers(10, log)
        let tally = try run(&session, log)
        #expect(log.records == Array(0..<10) && tally.sent == 10 && tally.leftOut.isEmpty)
    }

    @Test("a run that is started again continues where the log says, wherever it ended", arguments: 0..<200)
    func again(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let log = Log()
        let count = Int.random(in: 1...40, using: &random)
        var starts = 0
        while starts < 100 {
            starts += 1
            log.faults = (0..<8).map { _ in
                switch Int.random(in: 0..<8, using: &random) {
                case 0: .lost
                case 1: .unknown(isWritten: Bool.random(using: &random))
                case 2: .takenOver
                case 3: .stopped
                default: nil
                }
            }
            var session = Numbers(count, log)
            do {
                let tally = try run(&session, log, rate: Int.random(in: 1...9, using: &random))
                #expect(tally.sent == count, "seed \(seed)")
                break
            } catch is ResendTakenOver {
            } catch is ReplayStopped {}
        }
        #expect(log.records == Array(0..<count) && starts < 100, "seed \(seed)")
    }

    @Test("only the record that the broker rejects is left out, and is named")
    func refused() throws {
        let log = Log()
        log.refused = [2, 5, 6]
        var session = Numbers(10, log)
        session.late = [3]
        let tally = try run(&session, log)
        #expect(log.records == [0, 1, 4, 7, 8, 9])
        #expect(tally.sent == 6 && tally.refused == 3 && tally.leftOut == [.late: 1] && tally.settled == 10)
        #expect(tally.refusals.map(\.item) == [2, 5, 6] && tally.refusals[0].message.contains("refused"))
    }

    @Test("what was sent is counted also where it ends early, and a stopped one sends nothing")
    func early() throws {
        let log = Log()
        log.faults = [nil, .takenOver]
        var session = Numbers(10, log)
        var tally = ResendTally<Int, Reason>(sent: session.plan().done)
        var writer = Writer(log: log)
        #expect(throws: ResendTakenOver.self) {
            try session.send(&tally, with: &writer, pace: Pace(perSecond: 4), clock: { 0 })
        }
        #expect(tally.sent == 4 && log.records == [0, 1, 2, 3])
        writer.mustStop = true
        #expect(throws: ReplayStopped.self) {
            try session.send(&tally, with: &writer, pace: Pace(perSecond: 4), clock: { 0 })
        }
        #expect(log.records.count == 4)
    }

    @Test("one that finds what it was about to send in the log, by its own id, ends: another process continues")
    func takenOver() throws {
        let log = Log()
        var session = Numbers(10, log)
        _ = session.plan()
        log.records = [6]
        var tally = ResendTally<Int, Reason>(sent: 0)
        var writer = Writer(log: log)
        #expect(throws: ResendTakenOver.self) {
            try session.send(&tally, with: &writer, pace: Pace(perSecond: 4), clock: { 0 })
        }
        #expect(log.records == [6, 0, 1, 2, 3] && tally.sent == 4)
    }

    @Test("an id has 1 to 100 characters that are good in names; one that is made has the time in it")
    func ids() {
        for good in ["a", "2026-11-22_x.Y", String(repeating: "z", count: 100)] {
            #expect(ResendID(good)?.text == good)
        }
        for bad in ["", "a b", "a/b", "ä", "a\n", String(repeating: "z", count: 101)] { #expect(ResendID(bad) == nil) }
        let made = ResendID(time: "2026-11-22T05:30:00.123Z", random: 42)
        #expect(made.text == "20261122T053000-0000016")
        #expect(ResendID(made.text) == made)
    }
}
