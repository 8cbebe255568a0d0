import Foundation
import KafkaClient
import Synchronization
import Telemetry

/// How long threads wait while there is nothing to do. What arrives wakes them; a drain, a rebalance and a timer wait for
/// the end.
package enum IdleWait {
    /// Of a thread that a record or an answer wakes.
    package static let woken = Duration.milliseconds(200)
    /// Of one that also has to notice what another thread has found.
    package static let looking = Duration.milliseconds(50)
}

/// One role of a process while it runs, and what its threads have in common: the words "drain" and "stop", a clock, patience,
/// and what they report of their health. Any thread.
package final class RoleHost: Sendable {
    package let clock: PipelineClock
    package let patience: Patience
    package let health = HealthBoard()
    package let calls = CallWatch()
    /// Finish the open transaction, commit and end.
    let isDraining = Atomic<Bool>(false)
    /// End at once: open transactions are left to time out.
    let isStopping = Atomic<Bool>(false)
    private let explained: @Sendable (KafkaError) -> KafkaError
    #if DEBUG
        let faults = Result { () throws(PipelineError) in try FaultPlan.ofEnvironment() }
    #endif

    /// - Parameter explained: an error with what a person can do about it.
    package init(
        clock: PipelineClock = PipelineClock(), patience: Patience = Patience(),
        explained: @escaping @Sendable (KafkaError) -> KafkaError = { $0 }
    ) {
        self.clock = clock
        self.patience = patience
        self.explained = explained
    }

    package var time: TimeSource { clock.time }

    package func drain() { isDraining.store(true, ordering: .sequentiallyConsistent) }

    package func stop() { isStopping.store(true, ordering: .sequentiallyConsistent) }

    package var mustEnd: Bool { isDraining.load(ordering: .acquiring) || isStopping.load(ordering: .acquiring) }

    package var mustStop: Bool { isStopping.load(ordering: .acquiring) }

    /// Runs `body` on a thread of its own. Stops when the caller's task is cancelled.
    ///
    /// - Throws: what `body` throws, but for ``PipelineEnded``; `CancellationError`.
    package func run(_ body: @escaping @Sendable () throws -> Void) async throws {
        #if DEBUG
            _ = try faults.get()
        #endif
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                Thread.start("carillon") {
                    continuation.resume(with: Result { do { try body() } catch is PipelineEnded {} })
                    self.health.clear()
                }
            }
            try Task.checkCancellation()
        } onCancel: {
            stop()
        }
    }

    /// Takes an error of the environment, and returns what to log of it now, if anything; see ``Patience/consider(_:now:)``.
    ///
    /// - Parameter patience: of whoever has its own topics and group; nil: the role's.
    package func consider(_ error: KafkaError, _ patience: Patience? = nil) throws(PipelineError) -> String? {
        let error = explained(error)
        return try (patience ?? self.patience).consider(error, now: time.now()) ? error.description : nil
    }

    /// See ``Patience/untilItWorks(_:_:mustEnd:explained:tell:_:)``.
    ///
    /// - Parameters:
    ///   - patience: see ``consider(_:_:)``.
    ///   - whileDraining: whether a drain does not end the wait, since what is waited for is needed to commit.
    package func untilItWorks<Value: ~Copyable>(
        _ logger: Logger, _ patience: Patience? = nil, whileDraining: Bool = false,
        _ body: () throws(KafkaError) -> Value
    ) throws -> Value {
        try (patience ?? self.patience).untilItWorks(
            logger, time, mustEnd: { whileDraining ? mustStop : mustEnd }, explained: explained,
            tell: { health.waitUnanswered($0.map { "\($0)" }) }, body)
    }
}

/// What the threads of a role share; each role adds its own.
package protocol RoleContext: Sendable {
    var host: RoleHost { get }
}

extension RoleContext {
    package var clock: PipelineClock { host.clock }
    package var now: ContinuousClock.Instant { host.time.now() }
    package var patience: Patience { host.patience }
    package var mustEnd: Bool { host.mustEnd }
    package var mustStop: Bool { host.mustStop }

    /// See ``RoleHost/reach(_:worker:)``.
    ///
    /// - Parameter worker: -1 for a thread that is no worker.
    package func reach(_ point: FaultPoint, worker: Int = -1) throws(KafkaError) {
        try host.reach(point, worker: worker)
    }
}
