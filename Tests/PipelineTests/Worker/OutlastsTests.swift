import KafkaClient
import Streaming
import Testing

@testable import Pipeline

@Suite("A transaction that becomes older than its timeout (ADR 55)")
struct OutlastsTests {
    /// A worker's transactions, by the decisions of its ``WorkerTransactions``, at a broker that takes so many bytes a
    /// second. Nothing waits: a transaction costs what the broker takes for it.
    private struct Trial {
        static let timeout = Duration.seconds(20)
        static let mostRecords = 50_000
        /// Of a push.
        static let recordSize = 1_000.0

        var machine = WorkerTransactions()
        /// How many pushes each event gives, by partition.
        var events: [[Int]]
        var next: [Int]
        var deadLetters: [EventCoordinates] = []
        var outlasted = 0
        var seconds = 0.0
        /// Bytes a second; nil: the broker has stopped.
        var rate: Double?

        init(_ events: [[Int]], rate: Double?) {
            self.events = events
            self.rate = rate
            next = events.map { _ in 0 }
        }

        var isDone: Bool { zip(next, events).allSatisfy { $0 >= $1.count } }

        /// Processes all events, in at most so many transactions.
        mutating func run(most: Int = 100_000) {
            for _ in 0..<most where !isDone { transact() }
        }

        private mutating func transact() {
            machine.begun(TransactionTime(clock: 0, began: .now))
            let limit = machine.outlasts.records(most: Self.mostRecords)
            var ends = next
            var (records, letters) = (0, [EventCoordinates]())
            read: for partition in events.indices {
                while ends[partition] < events[partition].count {
                    let event = EventCoordinates(
                        SourcePartition(.orders, Int32(partition)), offset: Int64(ends[partition]))
                    let isCondemned = machine.outlasts.isCondemned(event)
                    if isCondemned { letters.append(event) }
                    if machine.isolation.isActive { machine.isolates(event, isDeadLetter: isCondemned) }
                    records += isCondemned ? 1 : events[partition][ends[partition]]
                    ends[partition] += 1
                    if machine.isolation.isActive || records >= limit { break read }
                }
            }
            end(records: records, ends: ends, letters: letters)
        }

        private mutating func end(records: Int, ends: [Int], letters: [EventCoordinates]) {
            let timeout = Self.timeout / .seconds(1)
            let took = rate.map { 0.02 + Double(records) * Self.recordSize / $0 } ?? .infinity
            seconds += min(took, timeout)
            guard took < timeout else {
                outlasted += 1
                let late = Int((rate ?? 0) * timeout / 2)
                machine.outlasted(
                    wasBusy: Outlasts.wasBusy(late: late, timeout: Self.timeout), timers: 0,
                    ends: Dictionary(
                        uniqueKeysWithValues: ends.enumerated().map {
                            (SourcePartition(.orders, Int32($0.offset)), Int64($0.element))
                        }))
                _ = machine.dropped()
                return
            }
            next = ends
            machine.committed(wasQuick: took < timeout / 4) { Int64(ends[Int($0.number)]) }
            deadLetters += letters
        }
    }

    /// Small events, with a large one among them.
    private static func withLarge(_ pushes: Int) -> [Int] {
        Array(repeating: 10, count: 50) + [pushes] + Array(repeating: 10, count: 50)
    }

    @Test(
        "the event that alone outlasts its transaction for the third time becomes a dead letter, and the others are sent"
    )
    func large() {
        var trial = Trial([Self.withLarge(100_000)], rate: 1e6)
        trial.run()
        #expect(trial.isDone)
        #expect(trial.deadLetters == [EventCoordinates(0, offset: 50)])
        // Once with others, and three times alone.
        #expect(trial.outlasted == 4)
        #expect(trial.seconds < 5 * 20)
    }

    @Test("also where other partitions go on in between, and for each of several such events")
    func severalPartitions() {
        var trial = Trial(
            [Self.withLarge(100_000), Array(repeating: 100, count: 500), Self.withLarge(30_000)], rate: 1e6)
        trial.run()
        #expect(trial.isDone)
        #expect(trial.deadLetters == [EventCoordinates(0, offset: 50), EventCoordinates(2, offset: 50)])
    }

    @Test(
        "a broker that takes next to nothing, or has stopped, makes no dead letter, however long that takes",
        arguments: [nil, 100e3, 200e3])
    func slowForEverybody(rate: Double?) throws {
        var trial = Trial([Self.withLarge(100_000), Self.withLarge(5_000)], rate: rate)
        trial.run(most: 1_000)
        #expect(!trial.isDone && trial.deadLetters.isEmpty)
        trial.rate = 50e6
        trial.run()
        #expect(trial.isDone && trial.deadLetters.isEmpty)
    }

    @Test("an event that outlasted twice is sent once the broker is fast again")
    func recovered() {
        var trial = Trial([[100_000]], rate: 1e6)
        while trial.outlasted < 3 { trial.run(most: 1) }
        trial.rate = 50e6
        trial.run()
        #expect(trial.isDone && trial.deadLetters.isEmpty)
    }

    @Test("the three times are in a row: one in which the broker had stopped counts again from zero")
    func inARow() {
        var trial = Trial([[100_000]], rate: 1e6)
        for _ in 0..<5 {
            trial.rate = 1e6
            trial.run(most: 3)
            trial.rate = nil
            trial.run(most: 1)
        }
        #expect(trial.deadLetters.isEmpty)
    }

    @Test("a backlog at a slow broker goes on in smaller transactions, although no event of it is too large")
    func backlog() {
        for rate in [100e3, 1e6] {
            var trial = Trial([Array(repeating: 200, count: 1_000)], rate: rate)
            trial.run()
            #expect(trial.isDone && trial.deadLetters.isEmpty)
            #expect(trial.outlasted <= 5, "\(trial.outlasted) at \(rate)")
            // 200 MB, and what was in vain.
            #expect(trial.seconds < 200e6 / rate * 1.5 + 60, "\(trial.seconds) s at \(rate)")
        }
    }

    @Test("how much a broker has to take in the second half of the timeout to count as working")
    func busy() {
        #expect(Outlasts.wasBusy(late: 10 * 256 << 10, timeout: .seconds(20)))
        #expect(!Outlasts.wasBusy(late: 10 * 256 << 10 - 1, timeout: .seconds(20)))
        #expect(!Outlasts.wasBusy(late: 0, timeout: .seconds(1)))
    }

    // MARK: Timers

    private func outlast(_ machine: inout WorkerTransactions, timersOf partition: Int32, _ timers: Int, events: Int = 0)
    {
        machine.begun(TransactionTime(clock: 0, began: .now))
        if events > 0 { machine.wrote(events: events, dated: 0, oldest: 0) }
        machine.takesTimers()
        machine.takesTimers(of: partition)
        machine.outlasted(wasBusy: true, timers: timers, ends: [:])
        _ = machine.dropped()
    }

    private func pass(_ machine: inout WorkerTransactions, timersOf partition: Int32) {
        machine.begun(TransactionTime(clock: 0, began: .now))
        machine.takesTimers()
        machine.takesTimers(of: partition)
        machine.committed(wasQuick: true) { _ in nil }
    }

    @Test(
        "a single timer is found in the same way; only what was alone counts, and timers of other partitions change nothing"
    )
    func timers() {
        var machine = WorkerTransactions()
        outlast(&machine, timersOf: 1, 40)
        #expect(machine.outlasts.isAlone(timerOf: 1) && !machine.outlasts.isAlone(timerOf: 0))
        outlast(&machine, timersOf: 1, 1, events: 3)
        for _ in 0..<2 {
            outlast(&machine, timersOf: 1, 1)
            pass(&machine, timersOf: 0)
        }
        #expect(!machine.outlasts.isCondemned(timerOf: 1))
        outlast(&machine, timersOf: 1, 1)
        #expect(machine.outlasts.isCondemned(timerOf: 1) && !machine.outlasts.isCondemned(timerOf: 0))
        pass(&machine, timersOf: 1)
        #expect(!machine.outlasts.isAlone(timerOf: 1))
    }

    @Test("what is known is forgotten with the partitions")
    func forgotten() {
        var machine = WorkerTransactions()
        outlast(&machine, timersOf: 1, 1)
        machine.forgetRefusals()
        #expect(machine.outlasts == Outlasts())
    }
}
