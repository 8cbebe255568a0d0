/// How much memory the process has taken while the owner only waited for a batch: one thread.
///
/// A fetch without a bomb is far below ``evidence``, and what arrives explains as much as it has bytes.
struct MemoryGrowth {
    static let evidence = 64 << 20

    private var grown = 0
    private var before = 0

    /// Whether it took so much that a process which ends now may have ended of it.
    var isEvident: Bool { grown >= Self.evidence }

    /// The owner begins to wait.
    mutating func waits(at bytes: Int) { before = bytes }

    /// The wait is over.
    ///
    /// - Parameter received: the bytes of what has arrived.
    mutating func ended(at bytes: Int, received: Int) {
        let more = bytes - before
        // The first pass over another bomb takes nothing, and the memory of the one before it is still taken.
        grown = more == 0 && !isEvident ? 0 : max(0, grown + more - received)
    }
}
