import Synchronization

/// That a signal has asked the demo to end. Any thread.
final class DemoStop: Sendable {
    private let isSetFlag = Atomic<Bool>(false)

    var isSet: Bool { isSetFlag.load(ordering: .sequentiallyConsistent) }

    func set() { isSetFlag.store(true, ordering: .sequentiallyConsistent) }

    /// Returns once it is set, at most 50 ms later.
    func wait() async {
        while !isSet { try? await Task.sleep(for: .milliseconds(50)) }
    }
}
