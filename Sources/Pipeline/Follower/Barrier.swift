import Synchronization

/// Who waits until something is reached, and how far it was. Any thread.
package struct Barrier: ~Copyable, Sendable {
    private let requested = Atomic<Int>(0)
    private let passed = Atomic<Int>(0)

    /// Requests that what there is after this call be reached.
    ///
    /// - Returns: what to wait for with ``isPassed(_:)``.
    package func request() -> Int { requested.add(1, ordering: .sequentiallyConsistent).newValue }

    package func isPassed(_ request: Int) -> Bool { passed.load(ordering: .acquiring) >= request }

    /// The newest request: read it before looking what there is.
    package var newest: Int { requested.load(ordering: .sequentiallyConsistent) }

    /// What was found after this request is reached.
    package func pass(_ request: Int) { passed.store(request, ordering: .releasing) }

    /// Whether somebody waits.
    package var isAwaited: Bool { !isPassed(newest) }
}
