import Pipeline
import Synchronization

/// What each worker is doing, for readiness and monitoring. Any thread.
final class BroadcastBoard: Sendable {
    /// A worker of this process.
    struct Worker: Equatable, Sendable {
        var partitions = 0
        /// Whether it reads its partitions, or has none.
        var isReading = false
        var passes = 0
        /// When the oldest broadcast was published that is not done.
        var oldestWaiting: WallTime?
        /// Records of the subscriptions that are not read yet, by partition; nothing before the first measurement.
        var lag: [Int32: Int] = [:]
        /// Whether it has what the topics had a second ago.
        var isFresh = true
    }

    private let workers: Mutex<[Worker]>

    /// - Parameter workers: so many; one that has not begun waits for the broker.
    init(workers: Int) {
        self.workers = Mutex(Array(repeating: Worker(), count: workers))
    }

    func set(_ worker: Worker, of number: Int) { workers.withLock { $0[number] = worker } }

    var all: [Worker] { workers.withLock { $0 } }

    var total: Worker {
        all.reduce(into: Worker()) { total, worker in
            total.partitions += worker.partitions
            total.passes += worker.passes
        }
    }
}
