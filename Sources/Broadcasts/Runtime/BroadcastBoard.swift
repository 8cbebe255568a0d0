import Synchronization

/// What each worker is doing, for readiness and monitoring. Any thread.
final class BroadcastBoard: Sendable {
    /// A worker of this process.
    struct Worker: Equatable, Sendable {
        var partitions = 0
        /// Whether it reads its partitions, or has none.
        var isReading = false
        var passes = 0
        /// Whether it has what the topics had a second ago.
        var isFresh = true
    }

    private let workers = Mutex<[Int: Worker]>([:])

    func set(_ worker: Worker, of number: Int) { workers.withLock { $0[number] = worker } }

    func remove(_ number: Int) { workers.withLock { $0[number] = nil } }

    var all: [(number: Int, worker: Worker)] {
        workers.withLock { $0.sorted { $0.key < $1.key }.map { (number: $0.key, worker: $0.value) } }
    }

    var total: Worker {
        all.reduce(into: Worker()) { total, each in
            total.partitions += each.worker.partitions
            total.passes += each.worker.passes
        }
    }
}
