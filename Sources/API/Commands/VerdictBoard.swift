import Registrar
import Synchronization

/// Who waits for the verdicts of commands. Any thread.
package final class VerdictBoard: Sendable {
    package enum Answer: Sendable {
        case decided(Verdict)
        /// It is recorded, and not decided in time, or what was decided cannot be seen here yet.
        case notYet
    }

    private struct Waiter {
        var deadline: ContinuousClock.Instant
        /// Whether what the verdict says can be seen here.
        var isVisible: @Sendable (Verdict) -> Bool
        var answer: @Sendable (Answer) -> Void
        var verdict: Verdict?
    }

    /// Who waits for something to be known here.
    private struct Looker {
        var deadline: ContinuousClock.Instant
        var isKnown: @Sendable () -> Bool
        var answer: @Sendable (Bool) -> Void
    }

    private struct State {
        var lookers: [Looker] = []
        /// By the offset of the command.
        var waiting: [Int64: Waiter] = [:]
        /// Verdicts that came before somebody asked: a command is decided while its delivery is reported.
        var early: [Int64: Verdict] = [:]
        /// Their commands, the oldest first.
        var order: [Int64] = []
    }

    /// So many verdicts that nobody waits for yet are kept, the newest.
    private static let mostEarly = 20_000

    private let state = Mutex(State())

    package init() {}

    /// - Parameters:
    ///   - command: the offset of the command.
    ///   - isVisible: asked where there is a verdict, until it is true.
    ///   - answer: called once, on any thread.
    package func wait(
        for command: Int64, until deadline: ContinuousClock.Instant,
        isVisible: @escaping @Sendable (Verdict) -> Bool, _ answer: @escaping @Sendable (Answer) -> Void
    ) {
        state.withLock { state in
            state.waiting[command] = Waiter(
                deadline: deadline, isVisible: isVisible, answer: answer, verdict: state.early[command])
        }
    }

    /// - Parameters:
    ///   - isKnown: asked until it is true, or the time is over.
    ///   - answer: called once, on any thread, with whether it is known.
    package func wait(
        until deadline: ContinuousClock.Instant, _ isKnown: @escaping @Sendable () -> Bool,
        _ answer: @escaping @Sendable (Bool) -> Void
    ) {
        state.withLock { $0.lookers.append(Looker(deadline: deadline, isKnown: isKnown, answer: answer)) }
    }

    /// The log of commands may be another one: what came early is of the one before.
    package func forget() {
        state.withLock { state in
            state.early.removeAll()
            state.order.removeAll()
        }
    }

    /// A verdict was read.
    package func decided(_ command: Int64, _ verdict: Verdict) {
        state.withLock { state in
            if state.waiting[command] != nil {
                state.waiting[command]?.verdict = verdict
                return
            }
            state.early[command] = verdict
            state.order.append(command)
            guard state.order.count > 2 * Self.mostEarly else { return }
            for old in state.order.prefix(Self.mostEarly) { state.early[old] = nil }
            state.order.removeFirst(Self.mostEarly)
        }
    }

    /// Answers those whose verdict can be seen.
    package func look() {
        for (command, waiter) in state.withLock({ $0.waiting.filter { $0.value.verdict != nil } }) {
            guard let verdict = waiter.verdict, waiter.isVisible(verdict) else { continue }
            end(command) { waiter.answer(.decided(verdict)) }
        }
        endLookers { $0.isKnown() ? true : nil }
    }

    /// Answers those that have waited for too long. Waits for nothing itself.
    package func expire(now: ContinuousClock.Instant = .now) {
        for (command, waiter) in state.withLock({ $0.waiting.filter { $0.value.deadline <= now } }) {
            end(command) { waiter.answer(.notYet) }
        }
        endLookers { $0.deadline <= now ? false : nil }
    }

    /// - Parameter decide: nil: it waits on.
    private func endLookers(_ decide: (Looker) -> Bool?) {
        let all = state.withLock { state in
            defer { state.lookers = [] }
            return state.lookers
        }
        var rest: [Looker] = []
        for looker in all {
            if let isKnown = decide(looker) { looker.answer(isKnown) } else { rest.append(looker) }
        }
        state.withLock { $0.lookers += rest }
    }

    private func end(_ command: Int64, _ answer: () -> Void) {
        let isMine = state.withLock { $0.waiting.removeValue(forKey: command) != nil }
        if isMine { answer() }
    }
}
