import KafkaClient
import Streaming
import Testing

@testable import Pipeline

@Suite("The transactions of a worker, without a broker")
struct WorkerTransactionsTests {
    private static let time = TransactionTime(clock: 1_000, began: .now)
    private static let event = EventCoordinates(2, offset: 40)

    @Test("what is committed is what was written: events, their ages, timers")
    func contents() {
        var machine = WorkerTransactions()
        machine.begun(Self.time)
        machine.wrote(events: 3, dated: 2, oldest: 7)
        machine.wrote(events: 2, dated: 0, oldest: .distantFuture)
        machine.filled()
        machine.takesTimers()
        machine.isolates(Self.event, isDeadLetter: true)
        var expected = OpenTransaction(time: Self.time)
        expected.events = 5
        expected.batches = [.init(oldest: 7, events: 2)]
        expected.isFull = true
        expected.hasTick = true
        expected.alone = Self.event
        expected.aloneIsDeadLetter = true
        #expect(machine.open == expected)
        machine.committed(wasQuick: true) { _ in nil }
        #expect(machine.open == nil && !machine.dropped())
    }

    // MARK: Timers

    private func refuseTimers(_ machine: inout WorkerTransactions, _ timers: Int)
        -> WorkerTransactions.RefusalAction
    {
        machine.begun(Self.time)
        machine.takesTimers()
        let action = machine.refused("X", timers: timers, ends: [2: 50])
        _ = machine.dropped()
        return action
    }

    @Test(
        "timers that are refused go alone, half as many each time; the one that stays becomes a dead letter, or the end"
    )
    func refusedTimers() {
        var machine = WorkerTransactions()
        for _ in 0..<2 { #expect(refuseTimers(&machine, 3) == .retry) }
        #expect(machine.isolation.tickLimit == 2)
        #expect(refuseTimers(&machine, 2) == .retry)
        #expect(machine.isolation.tickLimit == 1)
        #expect(refuseTimers(&machine, 1) == .retry)
        #expect(machine.isolation.tickTreatment == .deadLetter)
        #expect(refuseTimers(&machine, 1) == .giveUpTimer)
    }

    @Test("a commit with timers in it ends the search for the refused one, a commit of events does not")
    func searchEnds() {
        var machine = WorkerTransactions()
        for _ in 0..<2 { _ = refuseTimers(&machine, 1) }
        _ = refuseTimers(&machine, 1)
        #expect(machine.isolation.tickTreatment == .deadLetter)
        machine.begun(Self.time)
        machine.committed(wasQuick: true) { _ in nil }
        #expect(machine.isolation.tickLimit == 1)
        machine.begun(Self.time)
        machine.takesTimers()
        machine.committed(wasQuick: true) { _ in nil }
        #expect(machine.isolation.tickLimit == nil)
    }

    @Test("events are not blamed for timers that are isolated")
    func blame() {
        var machine = WorkerTransactions()
        // Nobody knows yet which of them it was.
        for _ in 0..<2 { _ = refuseTimers(&machine, 40) }
        #expect(machine.isolation.isActive && machine.isolation.tickLimit == 20)
        machine.begun(Self.time)
        machine.committed(wasQuick: true) { _ in 50 }
        #expect(!machine.isolation.isActive)
        for _ in 0..<2 { _ = refuseTimers(&machine, 20) }
        #expect(!machine.isolation.isActive && machine.isolation.tickLimit == 5)
    }

    @Test("what is known of refusals is forgotten with the partitions")
    func forgotten() {
        var machine = WorkerTransactions()
        for _ in 0..<2 { _ = refuseTimers(&machine, 40) }
        machine.forgetRefusals()
        #expect(!machine.isolation.isActive && machine.isolation.tickLimit == nil)
    }

    // MARK: Events

    private func refuseAlone(_ machine: inout WorkerTransactions, isDeadLetter: Bool)
        -> WorkerTransactions.RefusalAction
    {
        machine.begun(Self.time)
        machine.isolates(Self.event, isDeadLetter: isDeadLetter)
        let action = machine.refused("X", timers: 0, ends: [2: 50])
        _ = machine.dropped()
        return action
    }

    @Test("a refusal counts for the event that is alone in the transaction, also while it is being committed")
    func refusedEvent() {
        var machine = WorkerTransactions()
        for _ in 0..<2 {
            machine.begun(Self.time)
            #expect(machine.refused("X", timers: 0, ends: [2: 50]) == .retry)
            _ = machine.dropped()
        }
        #expect(machine.isolation.isActive)
        #expect(refuseAlone(&machine, isDeadLetter: false) == .retry)
        #expect(machine.isolation.treatment(of: Self.event) == .deadLetter)
        #expect(refuseAlone(&machine, isDeadLetter: true) == .retry)
        #expect(machine.isolation.treatment(of: Self.event) == .truncatedDeadLetter)
        #expect(refuseAlone(&machine, isDeadLetter: true) == .giveUp(Self.event))
    }

    @Test("events run alone up to the end of the refused batch, by what is committed")
    func isolationEnds() {
        var machine = WorkerTransactions()
        for _ in 0..<2 { _ = machine.refused("X", timers: 0, ends: [2: 50]) }
        for (next, isActive) in [(Int64(49), true), (50, false)] {
            machine.begun(Self.time)
            machine.committed(wasQuick: true) { _ in next }
            #expect(machine.isolation.isActive == isActive)
        }
    }
}
