import Foundation
import Synchronization

/// The threads of a pipeline or a sender, and how each of them ended. Each keeps the state folder, if there is one, locked
/// until it has ended, even when nobody waits for it any more: otherwise another process could write to the folder at the
/// same time.
package final class Crew: Sendable {
    private struct State {
        var running: Set<String> = []
        var failures: [any Error] = []
    }

    private let lock: FolderLock?
    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)

    package init(keeping lock: FolderLock) {
        self.lock = lock
    }

    package init() {
        lock = nil
    }

    package func start(_ name: String, _ body: @escaping @Sendable () throws -> Void) {
        _ = state.withLock { $0.running.insert(name) }
        Thread.start("carillon-\(name)") {
            let failure = withExtendedLifetime(self.lock) { Result { try body() }.failure }
            self.state.withLock { state in
                state.running.remove(name)
                if let failure { state.failures.append(failure) }
            }
            self.ended.signal()
        }
    }

    /// Starts a thread with a worker of its own, which leaves its group also after a failure.
    package func start<Worker: GroupWorker & ~Copyable>(
        _ name: String, with makeWorker: @escaping @Sendable () throws -> Worker
    ) {
        start(name) { try makeWorker().runAndClose() }
    }

    /// Waits until a thread ends, or for `seconds`.
    package func wait(seconds: Double) {
        _ = ended.wait(timeout: .now() + seconds)
    }

    package var isEmpty: Bool { state.withLock { $0.running.isEmpty } }

    /// The failure that says most: the first ``PipelineError``, since it says what to do; else what ended the first thread.
    package var failure: (any Error)? {
        state.withLock { state in
            state.failures.first { $0 is PipelineError } ?? state.failures.first { !($0 is PipelineEnded) }
        }
    }
}

/// What one thread owns: clients, one of which is the member of a group.
package protocol GroupWorker: SendableMetatype, ~Copyable {
    /// Works until the role drains or stops.
    mutating func run() throws
    /// Leaves the group, or stays its static member, and frees the clients.
    consuming func close()
}

extension GroupWorker where Self: ~Copyable {
    /// Leaves its group also after a failure.
    package consuming func runAndClose() throws {
        do {
            try run()
        } catch {
            close()
            throw error
        }
        close()
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}

extension Thread {
    /// Starts a thread of this name. librdkafka and LMDB need one owner each, which a thread pool does not give.
    package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let thread = Thread(block: body)
        thread.name = name
        thread.stackSize = 4 << 20
        thread.start()
    }
}
