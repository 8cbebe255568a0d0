import Dispatch
import Pipeline
import Synchronization

/// Decides what becomes of a broadcast by a view of its topic that is newer than the question, so that what any process has
/// written before is known; and of one id, one decision after the other. One thread runs it, any asks.
package final class BroadcastDecisions: Sendable {
    package struct Question: Sendable {
        package var id: String
        package var asked: ContinuousClock.Instant
        package var deadline: ContinuousClock.Instant
        /// The bytes that it holds.
        package var size: Int
        /// Gets the newest record of the id that is no tombstone. Returns whether it writes one: then ``settle(_:)`` follows.
        package var decide: @Sendable (BroadcastRecord?) -> Bool
        /// It was not known in time. Nothing was decided.
        package var giveUp: @Sendable () -> Void

        package init(
            id: String, asked: ContinuousClock.Instant, deadline: ContinuousClock.Instant, size: Int,
            decide: @escaping @Sendable (BroadcastRecord?) -> Bool, giveUp: @escaping @Sendable () -> Void
        ) {
            (self.id, self.asked, self.deadline, self.size) = (id, asked, deadline, size)
            (self.decide, self.giveUp) = (decide, giveUp)
        }
    }

    private struct State {
        var waiting: [Question] = []
        /// The ids whose record is being written.
        var open: Set<String> = []
        /// When ids were written that the view may not have.
        var settled: [String: ContinuousClock.Instant] = [:]
        var isEnding = false
    }

    package static let mostWaiting = 1_000
    package static let mostBytes = 64 << 20

    private let state = Mutex(State())
    private let came = DispatchSemaphore(value: 0)

    package init() {}

    /// - Returns: false if too many wait, or nobody decides any more.
    package func ask(_ question: Question) -> Bool {
        let isTaken = state.withLock { state in
            guard !state.isEnding, state.waiting.count < Self.mostWaiting,
                state.waiting.reduce(question.size, { $0 + $1.size }) <= Self.mostBytes
            else { return false }
            state.waiting.append(question)
            return true
        }
        if isTaken { came.signal() }
        return isTaken
    }

    /// The record of an id has its outcome, whatever it is.
    package func settle(_ id: String, at now: ContinuousClock.Instant = .now) {
        state.withLock { state in
            state.open.remove(id)
            state.settled[id] = now
        }
    }

    /// Decides until the host ends; what waits then is given up.
    package func run(on host: RoleHost, _ view: () -> BroadcastView) {
        while !host.mustEnd {
            let isIdle = state.withLock { $0.waiting.isEmpty }
            _ = came.wait(timeout: .now() + (isIdle ? .milliseconds(200) : .milliseconds(20)))
            look(view(), now: .now)
        }
        let rest = state.withLock { state in
            state.isEnding = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for question in rest { question.giveUp() }
    }

    /// Decides what can be decided by a view.
    func look(_ view: BroadcastView, now: ContinuousClock.Instant) {
        let (known, late) = state.withLock { Self.take(from: &$0, view.freshSince, now) }
        for question in late { question.giveUp() }
        for question in known where !question.decide(view.newest(question.id)) {
            _ = state.withLock { $0.open.remove(question.id) }
        }
    }

    private static func take(
        from state: inout State, _ fresh: ContinuousClock.Instant?, _ now: ContinuousClock.Instant
    ) -> (known: [Question], late: [Question]) {
        if let fresh { state.settled = state.settled.filter { $0.value > fresh } }
        var (known, late, rest): ([Question], [Question], [Question]) = ([], [], [])
        var before: Set<String> = []
        for question in state.waiting {
            if question.deadline <= now {
                late.append(question)
                continue
            }
            let isKnown = fresh.map { $0 >= question.asked } ?? false
            // The next one of the id has to see what this one does.
            if isKnown, before.insert(question.id).inserted, !state.open.contains(question.id),
                state.settled[question.id] == nil
            {
                state.open.insert(question.id)
                known.append(question)
            } else {
                before.insert(question.id)
                rest.append(question)
            }
        }
        state.waiting = rest
        return (known, late)
    }
}

extension BroadcastView {
    /// The newest record of a key; nil where that is a tombstone, or there is none.
    fileprivate func newest(_ id: String) -> BroadcastRecord? {
        let key = Array(id.utf8)
        return records.last { $0.key == key }
    }
}
