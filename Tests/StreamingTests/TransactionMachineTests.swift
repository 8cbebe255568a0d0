import Hosting
import KafkaClient
import Testing

@testable import Streaming

@Suite("The transactions of a worker, without a broker")
struct TransactionMachineTests {
    enum Situation: CaseIterable {
        case idle, open, committing
    }

    enum Input: CaseIterable {
        case begin, beginAfterRepeatedRequest, begun, commit, committed, unused, dropped, failedAbort, failedGiveUp,
            failedRetry, failedRecreate
    }

    private func machine(in situation: Situation) throws -> TransactionMachine<Int> {
        var machine = TransactionMachine<Int>()
        switch situation {
        case .idle: break
        case .open: try machine.begun(7)
        case .committing:
            try machine.begun(7)
            _ = machine.commit()
        }
        return machine
    }

    private func error(_ recovery: KafkaError.Recovery, of client: KafkaError.Client = .producer) -> KafkaError {
        KafkaError(kind: .other, recovery: recovery, of: client, name: "E", message: "m")
    }

    /// - Returns: what the worker is to do, `-` where that is nothing.
    private func apply(_ input: Input, to machine: inout TransactionMachine<Int>) -> String {
        do throws(PipelineError) {
            switch input {
            case .begin: return text(try machine.begin(hasRepeatedRequests: false))
            case .beginAfterRepeatedRequest: return text(try machine.begin(hasRepeatedRequests: true))
            case .begun: try machine.begun(8)
            case .commit: return machine.commit() == nil ? "-" : "commit"
            case .committed: return "\(try machine.committed())"
            case .unused: try machine.unused()
            case .dropped: return text(machine.dropped())
            case .failedAbort: return text(machine.failed(error(.abortTransaction)))
            case .failedGiveUp: return text(machine.failed(error(.giveUp)))
            case .failedRetry: return text(machine.failed(error(.retry)))
            case .failedRecreate: return text(machine.failed(error(.recreateClient)))
            }
            return "-"
        } catch {
            guard case .defect = error else { return "\(error)" }
            return "defect"
        }
    }

    private func text(_ action: TransactionMachine<Int>.BeginAction) -> String {
        switch action {
        case .nothing: "-"
        case .begin: "begin"
        case .replaceProducerAndBegin: "replace, begin"
        }
    }

    private func text(_ action: TransactionMachine<Int>.EndAction) -> String {
        switch action {
        case .nothing: "-"
        case .abort: "abort"
        case .replaceProducer: "replace"
        case .forgetAndReplaceProducer: "forget, replace"
        }
    }

    private func situation(of machine: TransactionMachine<Int>) -> Situation {
        switch machine.phase {
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
        (.commit, [("-", .idle), ("commit", .committing), ("-", .committing)]),
        (.committed, [("defect", .idle), ("defect", .open), ("7", .idle)]),
        (.unused, [("defect", .idle), ("-", .idle), ("defect", .committing)]),
        (.dropped, [("-", .idle), ("abort", .idle), ("abort", .idle)]),
        (.failedAbort, [("-", .idle), ("abort", .idle), ("abort", .idle)]),
        (.failedGiveUp, [("-", .idle), ("abort", .idle), ("abort", .idle)]),
        (.failedRetry, [("replace", .idle), ("forget, replace", .idle), ("forget, replace", .idle)]),
        (.failedRecreate, [("replace", .idle), ("forget, replace", .idle), ("forget, replace", .idle)]),
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
}
