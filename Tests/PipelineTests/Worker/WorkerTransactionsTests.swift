import KafkaClient
import Streaming
import Testing

@testable import Pipeline

@Suite("The transactions of a worker, without a broker")
struct WorkerTransactionsTests {
    enum Situation: CaseIterable {
        case idle, open, committing
    }

    enum Input: CaseIterable {
        case begin, beginAfterRepeatedRequest, begun, wrote, caughtUp, isolates, takesTimers, commit, committed, probed,
            dropped, failedAbort, failedGiveUp, failedRetry, failedRecreate, refused, outlasted
    }

    private static let start = ContinuousClock.now
    private static let event = EventCoordinates(2, offset: 40)

    private func machine(in situation: Situation) throws -> WorkerTransactions {
        var machine = WorkerTransactions()
        switch situation {
        case .idle: break
        case .open: try machine.begun(now: Self.start, clock: 1_000)
        case .committing:
            try machine.begun(now: Self.start, clock: 1_000)
            _ = machine.commit()
        }
        return machine
    }

    private func error(_ recovery: KafkaError.Recovery, of client: KafkaError.Client = .producer) -> KafkaError {
        KafkaError(kind: .other, recovery: recovery, of: client, name: "E", message: "m")
    }

    /// - Returns: what the worker is to do, `-` where that is nothing.
    private func apply(_ input: Input, to machine: inout WorkerTransactions) -> String {
        do throws(PipelineError) {
            switch input {
            case .begin: return text(try machine.begin(hasRepeatedRequests: false))
            case .beginAfterRepeatedRequest: return text(try machine.begin(hasRepeatedRequests: true))
            case .begun: try machine.begun(now: Self.start, clock: 1_000)
            case .wrote: try machine.wrote(events: 3, dated: 2, oldest: 7)
            case .caughtUp: try machine.caughtUp()
            case .isolates: try machine.isolates(Self.event, isDeadLetter: false)
            case .takesTimers: try machine.takesTimers()
            case .commit: return machine.commit() == nil ? "-" : "commit"
            case .committed: try machine.committed(wasQuick: true) { _ in nil }
            case .probed: try machine.probed()
            case .dropped: return text(machine.dropped())
            case .failedAbort: return text(machine.failed(error(.abortTransaction)))
            case .failedGiveUp: return text(machine.failed(error(.giveUp)))
            case .failedRetry: return text(machine.failed(error(.retry)))
            case .failedRecreate: return text(machine.failed(error(.recreateClient)))
            case .outlasted: machine.outlasted(wasBusy: true, timers: 0, ends: [2: 50])
            case .refused: return machine.refused("X", timers: 0, ends: [2: 50]) == .retry ? "retry" : "give up"
            }
            return "-"
        } catch {
            guard case .defect = error else { return "\(error)" }
            return "defect"
        }
    }

    private func text(_ action: TransactionMachine<OpenTransaction>.BeginAction) -> String {
        switch action {
        case .nothing: "-"
        case .begin: "begin"
        case .replaceProducerAndBegin: "replace, begin"
        }
    }

    private func text(_ action: TransactionMachine<OpenTransaction>.EndAction) -> String {
        switch action {
        case .nothing: "-"
        case .abort: "abort"
        case .replaceProducer: "replace"
        case .forgetAndReplaceProducer: "forget, replace"
        }
    }

    private func situation(of machine: WorkerTransactions) -> Situation {
        switch machine.machine.phase {
        case .idle: .idle
        case .open: .open
        case .committing: .committing
        }
    }

    /// A row is an input, its columns are idle, open and committing: what to do, and the phase afterwards.
    private static let table: [(input: Input, columns: [(action: String, next: Situation)])] = [
        (.begin, [("begin", .idle), ("-", .open), ("defect", .committing)]),
        (.beginAfterRepeatedRequest, [("replace, begin", .idle), ("-", .open), ("defect", .committing)]),
        (.begun, [("-", .open), ("defect", .open), ("defect", .committing)]),
        (.wrote, [("defect", .idle), ("-", .open), ("defect", .committing)]),
        (.caughtUp, [("-", .idle), ("-", .open), ("-", .committing)]),
        (.isolates, [("defect", .idle), ("-", .open), ("defect", .committing)]),
        (.takesTimers, [("defect", .idle), ("-", .open), ("defect", .committing)]),
        (.commit, [("-", .idle), ("commit", .committing), ("-", .committing)]),
        (.committed, [("defect", .idle), ("defect", .open), ("-", .idle)]),
        (.probed, [("defect", .idle), ("-", .idle), ("defect", .committing)]),
        (.dropped, [("-", .idle), ("abort", .idle), ("abort", .idle)]),
        (.failedAbort, [("-", .idle), ("abort", .idle), ("abort", .idle)]),
        (.failedGiveUp, [("-", .idle), ("abort", .idle), ("abort", .idle)]),
        (.failedRetry, [("replace", .idle), ("forget, replace", .idle), ("forget, replace", .idle)]),
        (.failedRecreate, [("replace", .idle), ("forget, replace", .idle), ("forget, replace", .idle)]),
        (.refused, [("retry", .idle), ("retry", .open), ("retry", .committing)]),
        (.outlasted, [("-", .idle), ("-", .open), ("-", .committing)]),
    ]

    @Test("every input in every phase: the next phase, and what the worker has to do")
    func everyInput() throws {
        #expect(Self.table.map(\.input) == Input.allCases)
        for (input, columns) in Self.table {
            try #require(columns.count == Situation.allCases.count)
            for (before, expected) in zip(Situation.allCases, columns) {
                var machine = try machine(in: before)
                let action = apply(input, to: &machine)
                #expect(action == expected.action, "\(input) while \(before)")
                #expect(situation(of: machine) == expected.next, "\(input) while \(before)")
            }
        }
    }

    @Test("what is committed is what was written: events, their ages, timers")
    func contents() throws {
        var machine = try machine(in: .open)
        try machine.wrote(events: 3, dated: 2, oldest: 7)
        try machine.wrote(events: 2, dated: 0, oldest: .distantFuture)
        try machine.caughtUp()
        try machine.takesTimers()
        try machine.isolates(Self.event, isDeadLetter: true)
        var expected = OpenTransaction(began: Self.start, clock: 1_000)
        expected.events = 5
        expected.batches = [.init(oldest: 7, events: 2)]
        expected.hasCaughtUp = true
        expected.hasTick = true
        expected.alone = Self.event
        expected.aloneIsDeadLetter = true
        #expect(machine.open == expected)
        #expect(machine.commit() == expected)
        #expect(machine.open == nil && !machine.isIdle)
        #expect(machine.alone == Self.event)
    }

    @Test("an error that replaces the producer is the one that the new producer is explained by")
    func replacement() throws {
        for recovery in [KafkaError.Recovery.retry, .recreateClient] {
            var idle = try machine(in: .idle)
            #expect(idle.failed(error(recovery)) == .replaceProducer(after: error(recovery)))
            var open = try machine(in: .open)
            #expect(open.failed(error(recovery)) == .forgetAndReplaceProducer(after: error(recovery)))
        }
    }

    @Test("an error of any client but the producer leaves the producer as it is")
    func othersErrors() throws {
        for client in [KafkaError.Client.member, .reader, .admin] {
            for recovery in [KafkaError.Recovery.retry, .recreateClient, .abortTransaction, .giveUp] {
                var idle = try machine(in: .idle)
                #expect(idle.failed(error(recovery, of: client)) == .nothing)
                var open = try machine(in: .open)
                #expect(open.failed(error(recovery, of: client)) == .abort)
            }
        }
    }

    // MARK: Timers

    private func refuseTimers(_ machine: inout WorkerTransactions, _ timers: Int) throws
        -> WorkerTransactions.RefusalAction
    {
        try machine.begun(now: Self.start, clock: 1_000)
        try machine.takesTimers()
        let action = machine.refused("X", timers: timers, ends: [2: 50])
        _ = machine.dropped()
        return action
    }

    @Test(
        "timers that are refused go alone, half as many each time; the one that stays becomes a dead letter, or the end"
    )
    func refusedTimers() throws {
        var machine = WorkerTransactions()
        for _ in 0..<2 { #expect(try refuseTimers(&machine, 3) == .retry) }
        #expect(machine.isolation.tickLimit == 2)
        #expect(try refuseTimers(&machine, 2) == .retry)
        #expect(machine.isolation.tickLimit == 1)
        #expect(try refuseTimers(&machine, 1) == .retry)
        #expect(machine.isolation.tickTreatment == .deadLetter)
        #expect(try refuseTimers(&machine, 1) == .giveUpTimer)
    }

    @Test("a commit with timers in it ends the search for the refused one, a commit of events does not")
    func searchEnds() throws {
        var machine = WorkerTransactions()
        for _ in 0..<2 { _ = try refuseTimers(&machine, 1) }
        _ = try refuseTimers(&machine, 1)
        #expect(machine.isolation.tickTreatment == .deadLetter)
        try machine.begun(now: Self.start, clock: 1_000)
        _ = machine.commit()
        try machine.committed(wasQuick: true) { _ in nil }
        #expect(machine.isolation.tickLimit == 1)
        try machine.begun(now: Self.start, clock: 1_000)
        try machine.takesTimers()
        _ = machine.commit()
        try machine.committed(wasQuick: true) { _ in nil }
        #expect(machine.isolation.tickLimit == nil)
    }

    @Test("events are not blamed for timers that are isolated")
    func blame() throws {
        var machine = WorkerTransactions()
        // Nobody knows yet which of them it was.
        for _ in 0..<2 { _ = try refuseTimers(&machine, 40) }
        #expect(machine.isolation.isActive && machine.isolation.tickLimit == 20)
        try machine.begun(now: Self.start, clock: 1_000)
        _ = machine.commit()
        try machine.committed(wasQuick: true) { _ in 50 }
        #expect(!machine.isolation.isActive)
        for _ in 0..<2 { _ = try refuseTimers(&machine, 20) }
        #expect(!machine.isolation.isActive && machine.isolation.tickLimit == 5)
    }

    @Test("what is known of refusals is forgotten with the partitions")
    func forgotten() throws {
        var machine = WorkerTransactions()
        for _ in 0..<2 { _ = try refuseTimers(&machine, 40) }
        machine.forgetRefusals()
        #expect(!machine.isolation.isActive && machine.isolation.tickLimit == nil)
    }

    @Test(
        "timers need a transaction whose clock is no earlier, which has room, and which is theirs while they go alone")
    func ownTransaction() throws {
        var machine = try machine(in: .idle)
        #expect(!machine.mustCommit(beforeTimersAt: 5_000) { _ in true })
        try machine.begun(now: Self.start, clock: 1_000)
        #expect(!machine.mustCommit(beforeTimersAt: 1_000) { _ in false })
        #expect(machine.mustCommit(beforeTimersAt: 1_001) { _ in false })
        #expect(machine.mustCommit(beforeTimersAt: 1_000) { _ in true })
        _ = machine.dropped()
        for _ in 0..<2 { _ = try refuseTimers(&machine, 4) }
        try machine.begun(now: Self.start, clock: 1_000)
        #expect(machine.mustCommit(beforeTimersAt: 1_000) { _ in false })
    }

    // MARK: Events

    private func refuseAlone(_ machine: inout WorkerTransactions, isDeadLetter: Bool) throws
        -> WorkerTransactions.RefusalAction
    {
        try machine.begun(now: Self.start, clock: 1_000)
        try machine.isolates(Self.event, isDeadLetter: isDeadLetter)
        _ = machine.commit()
        let action = machine.refused("X", timers: 0, ends: [2: 50])
        _ = machine.dropped()
        return action
    }

    @Test("a refusal counts for the event that is alone in the transaction, also while it is being committed")
    func refusedEvent() throws {
        var machine = WorkerTransactions()
        for _ in 0..<2 {
            try machine.begun(now: Self.start, clock: 1_000)
            #expect(machine.refused("X", timers: 0, ends: [2: 50]) == .retry)
            _ = machine.dropped()
        }
        #expect(machine.isolation.isActive)
        #expect(try refuseAlone(&machine, isDeadLetter: false) == .retry)
        #expect(machine.isolation.treatment(of: Self.event) == .deadLetter)
        #expect(try refuseAlone(&machine, isDeadLetter: true) == .retry)
        #expect(machine.isolation.treatment(of: Self.event) == .truncatedDeadLetter)
        #expect(try refuseAlone(&machine, isDeadLetter: true) == .giveUp(Self.event))
    }

    @Test("events run alone up to the end of the refused batch, by what is committed")
    func isolationEnds() throws {
        var machine = WorkerTransactions()
        for _ in 0..<2 { _ = machine.refused("X", timers: 0, ends: [2: 50]) }
        for (next, isActive) in [(Int64(49), true), (50, false)] {
            try machine.begun(now: Self.start, clock: 1_000)
            _ = machine.commit()
            try machine.committed(wasQuick: true) { _ in next }
            #expect(machine.isolation.isActive == isActive)
        }
    }
}
