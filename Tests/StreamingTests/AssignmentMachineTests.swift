import Hosting
import Testing

@testable import Streaming

@Suite("The assignment of a worker, without a broker")
struct AssignmentMachineTests {
    /// The situations of a worker that has partitions 0 and 1.
    enum Situation: CaseIterable {
        case unassigned, locating, starting, reading, readingNothing
    }

    enum Input: CaseIterable {
        case assigned, assignedNothing, released, mustBegin, unanswered, located, started
    }

    private static let start = ContinuousClock.now

    private func machine(in situation: Situation) throws -> AssignmentMachine<Int> {
        var machine = AssignmentMachine<Int>()
        switch situation {
        case .unassigned: break
        case .readingNothing: machine.assigned([], now: Self.start)
        case .locating: machine.assigned([1, 0], now: Self.start)
        case .starting:
            machine.assigned([1, 0], now: Self.start)
            try machine.located()
        case .reading:
            machine.assigned([1, 0], now: Self.start)
            try machine.located()
            try machine.started()
        }
        return machine
    }

    /// - Returns: what the worker is to do, `-` where that is nothing.
    private func apply(_ input: Input, to machine: inout AssignmentMachine<Int>) -> String {
        do throws(PipelineError) {
            switch input {
            case .assigned: machine.assigned([3, 2], now: Self.start)
            case .assignedNothing: machine.assigned([], now: Self.start)
            case .released: machine.released()
            case .mustBegin: machine.mustBegin(now: Self.start)
            case .unanswered:
                return try machine.unanswered(longerThan: .seconds(30), now: Self.start) ? "warn" : "wait"
            case .located: try machine.located()
            case .started: try machine.started()
            }
            return "-"
        } catch {
            guard case .defect = error else { return "\(error)" }
            return "defect"
        }
    }

    private func state(of machine: borrowing AssignmentMachine<Int>) -> String {
        switch machine.phase {
        case .unassigned: "unassigned"
        case .locating(let search): "locating \(search.partitions)"
        case .starting(let search): "starting \(search.partitions)"
        case .reading: "reading \(machine.groupPartitions)"
        }
    }

    private static let columns = ["unassigned", "locating [0, 1]", "starting [0, 1]", "reading [0, 1]", "reading []"]

    /// A row is an input, its columns are the situations in their order: what to do, and the phase afterwards.
    private static let table: [(input: Input, columns: [(action: String, state: String)])] = [
        (.assigned, Situation.allCases.map { _ in ("-", "locating [2, 3]") }),
        (.assignedNothing, Situation.allCases.map { _ in ("-", "reading []") }),
        (.released, Situation.allCases.map { _ in ("-", "unassigned") }),
        (
            .mustBegin,
            [
                ("-", columns[0]), ("-", columns[1]), ("-", columns[1]), ("-", columns[1]), ("-", columns[4]),
            ]
        ),
        (
            .unanswered,
            [
                ("defect", columns[0]), ("wait", columns[1]), ("wait", columns[2]), ("defect", columns[3]),
                ("defect", columns[4]),
            ]
        ),
        (
            .located,
            [
                ("defect", columns[0]), ("-", columns[2]), ("-", columns[2]), ("defect", columns[3]),
                ("defect", columns[4]),
            ]
        ),
        (
            .started,
            [
                ("defect", columns[0]), ("defect", columns[1]), ("-", columns[3]), ("defect", columns[3]),
                ("defect", columns[4]),
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

    @Test("an answer is late when it takes longer than a transaction can be open, counted from the latest search")
    func lateAnswer() throws {
        var machine = try machine(in: .reading)
        let later = Self.start + .seconds(100)
        machine.mustBegin(now: later)
        let soon = try machine.unanswered(longerThan: .seconds(30), now: later + .seconds(30))
        let late = try machine.unanswered(longerThan: .seconds(30), now: later + .milliseconds(30_001))
        #expect(!soon && late)
    }
}
