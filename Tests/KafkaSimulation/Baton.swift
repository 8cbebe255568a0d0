import Dispatch
import Foundation
import TestSupport

/// Virtual time, and threads of which exactly one runs: whoever has the baton. A thread gives it away when it pauses; who
/// is due first has it next, and the time is then that one's. What the broker does by itself are events between.
///
/// `@unchecked Sendable`: only the thread with the baton touches it.
package final class Baton: @unchecked Sendable {
    private final class Sleeper {
        let number: Int
        var due: Duration
        let wake = DispatchSemaphore(value: 0)

        init(_ number: Int, due: Duration) {
            self.number = number
            self.due = due
        }
    }

    private struct Event {
        let due: Duration
        let body: () -> Void
    }

    package private(set) var now = Duration.zero
    package var generator: SeededGenerator
    private let began = ContinuousClock.now
    /// In the order in which they have begun.
    private var sleepers: [Sleeper] = []
    /// The last one is due first; of those that are due at the same time, the oldest.
    private var events: [Event] = []
    private var threads = 0
    private var current: Sleeper?
    /// Who has had the baton, and when: the same in each run of a seed.
    package private(set) var trace: UInt64 = 0xCBF2_9CE4_8422_2325
    private let ended = DispatchSemaphore(value: 0)
    private let seed: UInt64

    package init(seed: UInt64) {
        self.seed = seed
        generator = SeededGenerator(seed: seed)
    }

    package var instant: ContinuousClock.Instant { began + now }

    // MARK: Chance

    package func draw(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }

    /// Whether one of so many cases is this one; never with 0.
    package func isOne(of count: Int) -> Bool { count > 0 && draw(1...count) == 1 }

    package func milliseconds(_ range: ClosedRange<Int>) -> Duration { .milliseconds(draw(range)) }

    // MARK: Time

    /// The broker does this after a while.
    package func after(_ delay: Duration, _ body: @escaping () -> Void) {
        let due = now + delay
        var (start, end) = (0, events.count)
        while start < end {
            let middle = (start + end) / 2
            if events[middle].due <= due { end = middle } else { start = middle + 1 }
        }
        events.insert(Event(due: due, body: body), at: start)
    }

    package func start(_ body: @escaping @Sendable () -> Void) {
        threads += 1
        let sleeper = Sleeper(threads, due: now)
        sleepers.append(sleeper)
        let number = threads
        let wake = sleeper.wake
        let thread = Thread { [self] in
            wake.wait()
            body()
            sleepers.removeAll { $0.number == number }
            current = nil
            next()
        }
        thread.stackSize = 1 << 20
        thread.start()
    }

    /// Of the running thread.
    package func pause(_ time: Duration) {
        guard let me = current else { return }
        me.due = now + max(time, .zero)
        // Once another thread was woken, nothing but this one's own may be looked at.
        if !next() { me.wake.wait() }
    }

    /// Runs until every thread has ended and nothing is left to happen. Ends the process where a thread keeps the baton:
    /// nothing could take it away.
    package func run() {
        next()
        guard ended.wait(timeout: .now() + 120) == .timedOut else { return }
        FileHandle.standardError.write(Data("TEST_SEED=\(seed) CARILLON_SIMULATION_SEEDS=1: a worker hangs\n".utf8))
        exit(1)
    }

    /// Gives the baton to who is due first.
    ///
    /// - Returns: whether that is the thread that had it.
    @discardableResult private func next() -> Bool {
        while true {
            let sleeper = firstSleeper()
            if let event = events.last, sleeper == nil || event.due <= sleeper?.due ?? .zero {
                events.removeLast()
                if event.due > now { now = event.due }
                event.body()
                continue
            }
            guard let sleeper else {
                ended.signal()
                return false
            }
            if sleeper.due > now { now = sleeper.due }
            let isMe = sleeper === current
            current = sleeper
            note(UInt64(sleeper.number))
            note(UInt64(now.components.attoseconds / 1_000) &+ UInt64(now.components.seconds))
            if !isMe { sleeper.wake.signal() }
            return isMe
        }
    }

    /// Without closures and ranges, which a debug build does not optimize: this is most of what a simulation does.
    private func firstSleeper() -> Sleeper? {
        let sleepers = sleepers
        guard var first = sleepers.first else { return nil }
        var index = 1
        while index < sleepers.count {
            if sleepers[index].due < first.due { first = sleepers[index] }
            index += 1
        }
        return first
    }

    /// FNV-1a, a word at a time.
    private func note(_ word: UInt64) { trace = (trace ^ word) &* 0x100_0000_01B3 }
}
