import KafkaClient
import Notifications
import Streaming
import Testing

@testable import Pipeline

@Suite("The assignment of a worker, without a broker")
struct WorkerAssignmentTests {
    /// The situations of a worker with partitions 0 and 1, committed at 20 and 5; the state of 0 is folded to 12.
    enum Situation: CaseIterable {
        case unassigned, locating, starting, rewinding, refolding, reading, readingNothing
    }

    enum Input: CaseIterable {
        case assigned, assignedNothing, released, rewound, mustBegin, narrow, stoppedReading, answered, unanswered,
            located, started, fold, folded
    }

    private static let start = ContinuousClock.now
    private static let metadata = OffsetMetadata(watermark: 7, partitions: 6, newestTimestamp: 100)
    private static let committed: [SourcePartition: CommittedPosition] = [
        0: CommittedPosition(offset: 20, metadata: metadata), 1: CommittedPosition(offset: 5, metadata: metadata),
    ]

    private func machine(in situation: Situation) throws -> WorkerAssignment {
        var machine = WorkerAssignment()
        switch situation {
        case .unassigned: break
        case .readingNothing: machine.assigned([], barrier: 3, now: Self.start)
        case .locating: machine.assigned([1, 0], barrier: 3, now: Self.start)
        case .starting:
            machine.assigned([1, 0], barrier: 3, now: Self.start)
            _ = try machine.located(Self.committed, folds: [0: 12], partitionCounts: [.orders: 6])
        case .refolding:
            machine.assigned([1, 0], barrier: 3, now: Self.start)
            try begin(&machine, folds: [0: 12])
        case .reading, .rewinding:
            machine.assigned([1, 0], barrier: 3, now: Self.start)
            try begin(&machine, folds: [:])
            if situation == .rewinding { _ = machine.rewound(now: Self.start) }
        }
        return machine
    }

    private func begin(_ machine: inout WorkerAssignment, folds: [Int32: Int64]) throws {
        _ = try machine.located(Self.committed, folds: folds, partitionCounts: [.orders: 6])
        _ = try machine.started(now: Self.start)
    }

    /// - Returns: what the worker is to do, `-` where that is nothing.
    private func apply(_ input: Input, to machine: inout WorkerAssignment) -> String {
        do throws(PipelineError) {
            switch input {
            case .assigned: machine.assigned([3, 2], barrier: 4, now: Self.start)
            case .assignedNothing: machine.assigned([], barrier: 4, now: Self.start)
            case .released: machine.released()
            case .rewound: return machine.rewound(now: Self.start) == .locate ? "locate" : "-"
            case .mustBegin: machine.mustBegin(now: Self.start)
            case .narrow: machine.narrow(to: [1])
            case .stoppedReading: machine.stoppedReading()
            case .answered: return try machine.answered([0, 1]) { _ in nil } == .locate ? "locate" : "ask"
            case .unanswered:
                return try machine.unanswered(longerThan: .seconds(30), now: Self.start) ? "warn" : "wait"
            case .located:
                return text(try machine.located(Self.committed, folds: [0: 12], partitionCounts: [.orders: 6]))
            case .started: return "whole \(try machine.started(now: Self.start))"
            case .fold:
                machine.fold(0, upTo: 20)
                return "finished \(machine.takeFinishedFolds())"
            case .folded: return try machine.folded(3, now: Self.start) == .more(nil) ? "go on" : "finish"
            }
            return "-"
        } catch {
            guard case .defect = error else { return "\(error)" }
            return "defect"
        }
    }

    private func text(_ action: WorkerAssignment.StartAction) -> String {
        func list(_ offsets: [SourcePartition: Int64]) -> String {
            offsets.sorted { $0.key < $1.key }.map { "\($0.key.number):\($0.value)" }.joined(separator: " ")
        }
        return switch action {
        case .assign(let offsets): "assign \(list(offsets))"
        case .seek(let offsets): "seek \(list(offsets))"
        }
    }

    private func state(of machine: borrowing WorkerAssignment) -> String {
        func list(_ search: WorkerAssignment.Search) -> String {
            "\(search.partitions.map(\.number)) by \(search.isRewind ? "seek" : "assign")"
        }
        switch machine.machine.phase {
        case .unassigned: return "unassigned"
        case .locating(let search): return "locating \(list(search))"
        case .starting(let search): return "starting \(list(search))"
        case .restoring: return "refolding \(machine.positions.orders.leftToFold)"
        case .reading: return "reading \(machine.positions.owned.map(\.number))"
        }
    }

    private static let byAssign = "locating [0, 1] by assign"
    private static let bySeek = "locating [0, 1] by seek"
    private static let byStart = "starting [0, 1] by assign"

    /// A row is an input, its columns are the situations in their order: what to do, and the phase afterwards.
    private static let table: [(input: Input, columns: [(action: String, state: String)])] = [
        (.assigned, Situation.allCases.map { _ in ("-", "locating [2, 3] by assign") }),
        (
            .assignedNothing,
            [
                ("-", "reading []"), ("-", "reading []"),
                // The positions from before count until others are known.
                ("-", "reading [0, 1]"), ("-", "reading [0, 1]"), ("-", "reading [0, 1]"), ("-", "reading [0, 1]"),
                ("-", "reading []"),
            ]
        ),
        (.released, Situation.allCases.map { _ in ("-", "unassigned") }),
        (
            .rewound,
            [
                ("-", "unassigned"), ("-", byAssign), ("locate", byAssign), ("locate", bySeek), ("locate", bySeek),
                ("locate", bySeek), ("-", "reading []"),
            ]
        ),
        (
            .mustBegin,
            [
                ("-", "unassigned"), ("-", byAssign), ("-", byAssign), ("-", byAssign), ("-", byAssign),
                ("-", byAssign),
                ("-", "reading []"),
            ]
        ),
        (
            .narrow,
            [
                ("-", "unassigned"), ("-", "locating [1] by assign"), ("-", "locating [1] by assign"),
                ("-", "locating [1] by seek"), ("-", "refolding 8"), ("-", "reading [0, 1]"), ("-", "reading []"),
            ]
        ),
        (
            .stoppedReading,
            [
                ("-", "unassigned"), ("-", byAssign), ("-", byAssign), ("-", byAssign), ("-", "refolding 8"),
                ("-", "reading [0, 1]"), ("-", "reading []"),
            ]
        ),
        (
            .answered,
            [
                ("defect", "unassigned"), ("locate", byAssign), ("locate", byStart), ("locate", bySeek),
                ("defect", "refolding 8"), ("defect", "reading [0, 1]"), ("defect", "reading []"),
            ]
        ),
        (
            .unanswered,
            [
                ("defect", "unassigned"), ("wait", byAssign), ("wait", byStart), ("wait", bySeek),
                ("defect", "refolding 8"), ("defect", "reading [0, 1]"), ("defect", "reading []"),
            ]
        ),
        (
            .located,
            [
                ("defect", "unassigned"), ("assign 0:12 1:5", byStart), ("assign 0:12 1:5", byStart),
                ("seek 0:12 1:5", "starting [0, 1] by seek"), ("defect", "refolding 8"), ("defect", "reading [0, 1]"),
                ("defect", "reading []"),
            ]
        ),
        (
            .started,
            [
                ("defect", "unassigned"), ("defect", byAssign), ("whole [1]", "refolding 8"), ("defect", bySeek),
                ("defect", "refolding 8"), ("defect", "reading [0, 1]"), ("defect", "reading []"),
            ]
        ),
        (
            .fold,
            [
                ("finished []", "unassigned"), ("finished []", byAssign), ("finished []", byStart),
                ("finished []", bySeek), ("finished [0]", "refolding 0"), ("finished []", "reading [0, 1]"),
                ("finished []", "reading []"),
            ]
        ),
        (
            .folded,
            [
                ("defect", "unassigned"), ("defect", byAssign), ("defect", byStart), ("defect", bySeek),
                ("go on", "refolding 8"), ("defect", "reading [0, 1]"), ("defect", "reading []"),
            ]
        ),
    ]

    @Test("every input in every phase: the next phase, and what the worker has to do")
    func everyInput() throws {
        #expect(Self.table.map(\.input) == Input.allCases)
        for (input, columns) in Self.table {
            try #require(columns.count == Situation.allCases.count)
            for (situation, expected) in zip(Situation.allCases, columns) {
                var machine = try machine(in: situation)
                let action = apply(input, to: &machine)
                let state = state(of: machine)
                #expect(action == expected.action, "\(input) while \(situation)")
                #expect(state == expected.state, "\(input) while \(situation)")
            }
        }
    }

    @Test("it works while it has something to read and the table is ready, whether states are folded meanwhile or not")
    func work() throws {
        for situation in Situation.allCases {
            let machine = try machine(in: situation)
            let canWork = machine.canWork(isTableReady: true)
            let worksWithoutTable = machine.canWork(isTableReady: false)
            #expect(canWork == (situation == .refolding || situation == .reading), "\(situation)")
            #expect(!worksWithoutTable, "\(situation)")
        }
    }

    @Test("readiness follows from the phase")
    func readiness() throws {
        let expected: [ReadinessBoard.WorkerState] = [
            .joining, .positioning, .positioning, .positioning, .refolding, .reading, .reading,
        ]
        for (situation, expected) in zip(Situation.allCases, expected) {
            let readiness = try machine(in: situation).readiness
            #expect(readiness == expected, "\(situation)")
        }
    }

    @Test("how far the states are folded is known while the positions are, and not while they are located")
    func committedFolds() throws {
        let expected: [[Int32: Int64]?] = [[:], nil, nil, nil, [0: 12, 1: 5], [0: 20, 1: 5], [:]]
        for (situation, expected) in zip(Situation.allCases, expected) {
            let folds = try machine(in: situation).committedFolds
            #expect(folds == expected, "\(situation)")
        }
    }

    @Test("a partition without a committed offset begins where --from says, and without --from nothing does")
    func missingOffsets() throws {
        let machine = try machine(in: .locating)
        let begun = try machine.answered([0]) { _ in .time(9) }
        #expect(begun == .begin([1: .time(9)]))
        let refused = try machine.answered([]) { _ in nil }
        #expect(refused == .refuse([0, 1]))
        // Those of partitions that it does not have say nothing about its own.
        let others = try machine.answered([2, 3]) { _ in .latest }
        #expect(others == .begin([0: .latest, 1: .latest]))
    }

    @Test("each source begins where its own rule says, and only those without one are refused")
    func missingOffsetsOfSources() throws {
        var machine = WorkerAssignment()
        let requests = SourcePartition(.requests, 0)
        machine.assigned([0, requests], barrier: 1, now: Self.start)
        func start(of source: SourceKind) -> PipelineConfiguration.StartPosition? {
            switch source {
            case .orders: nil
            case .requests: .time(5)
            }
        }
        let begun = try machine.answered([0], from: start)
        #expect(begun == .begin([requests: .time(5)]))
        let refused = try machine.answered([], from: start)
        #expect(refused == .refuse([0]))
    }

    @Test("partitions of two sources with one number are two partitions")
    func twoSources() throws {
        var machine = WorkerAssignment()
        let requests = SourcePartition(.requests, 0)
        machine.assigned([requests, 0], barrier: 1, now: Self.start)
        let noTimers = OffsetMetadata(watermark: 0, partitions: 3, newestTimestamp: 9)
        let action = try machine.located(
            [
                0: CommittedPosition(offset: 20, metadata: Self.metadata),
                requests: CommittedPosition(offset: 7, metadata: noTimers),
            ], folds: [0: 12], partitionCounts: [.orders: 6, .requests: 4])
        // Requests have no state: reading begins at the committed offset.
        #expect(action == .assign([0: 12, requests: 7]))
        _ = try machine.started(now: Self.start)
        let left = machine.positions.orders.leftToFold
        #expect(left == 8)
        machine.positions.requests.advance(
            over: EventRecord(partition: 0, offset: 7, timestamp: nil, key: nil, value: nil), latest: .distantFuture)
        var moved: [String] = []
        machine.positions.forEachUncommitted { moved.append("\($0.source) \($0.number) \($1.next) \($2.text)") }
        #expect(moved == ["requests 0 8 v1 w=0 n=4 t=9"])
        machine.fold(0, upTo: 20)
        let finished = machine.takeFinishedFolds()
        #expect(finished == [0])
    }

    @Test("an answer is late when it takes longer than a transaction can be open, counted from the latest rewind")
    func lateAnswer() throws {
        var machine = try machine(in: .reading)
        let later = Self.start + .seconds(100)
        let action = machine.rewound(now: later)
        #expect(action == .locate)
        let soon = try machine.unanswered(longerThan: .seconds(30), now: later + .seconds(30))
        let late = try machine.unanswered(longerThan: .seconds(30), now: later + .milliseconds(30_001))
        #expect(!soon && late)
    }

    @Test("partitions that were unassigned are assigned again, however often they are rewound meanwhile")
    func outOfRange() throws {
        var machine = try machine(in: .reading)
        _ = machine.rewound(now: Self.start)
        machine.stoppedReading()
        _ = machine.rewound(now: Self.start)
        let action = text(try machine.located(Self.committed, folds: [:], partitionCounts: [.orders: 6]))
        #expect(action == "assign 0:20 1:5")
    }

    @Test("the fold ends when every partition has reached its committed offset, and says so once")
    func fold() throws {
        var machine = WorkerAssignment()
        machine.assigned([0, 1], barrier: 1, now: Self.start)
        try begin(&machine, folds: [0: 12, 1: 1])
        machine.fold(0, upTo: 15)
        machine.fold(1, upTo: 9)
        let first = machine.takeFinishedFolds()
        let next = try machine.folded(5, now: Self.start + .seconds(10))
        #expect(first == [1])
        #expect(
            next == .more("folds the state of orders: 0 records/s, 5 offsets left, ready in about 8 s"))
        machine.fold(0, upTo: 20)
        let second = machine.takeFinishedFolds()
        let finish = try machine.folded(4, now: Self.start + .seconds(12))
        let state = state(of: machine)
        #expect(second == [0])
        #expect(finish == .finish("the state of orders is complete: 9 records in 12 s"))
        #expect(state == "reading [0, 1]")
    }

    @Test("what was folded beside a transaction that is aborted is folded again")
    func abortedFold() throws {
        var machine = try machine(in: .refolding)
        machine.fold(0, upTo: 20)
        machine.positions.rollBack()
        let folds = machine.committedFolds
        #expect(folds == [0: 12, 1: 5])
        _ = machine.rewound(now: Self.start)
        let action = text(try machine.located(Self.committed, folds: folds ?? [:], partitionCounts: [.orders: 6]))
        let whole = try machine.started(now: Self.start)
        let finished = machine.takeFinishedFolds()
        #expect(action == "seek 0:12 1:5")
        #expect(whole == [1])
        #expect(finished == [])
    }

    @Test("the table's barrier belongs to the assignment: a rewind keeps it, a release does not")
    func barrier() throws {
        var machine = try machine(in: .reading)
        _ = machine.rewound(now: Self.start)
        let kept = machine.barrier
        machine.released()
        let forgotten = machine.barrier
        #expect(kept == 3 && forgotten == 0)
    }
}
