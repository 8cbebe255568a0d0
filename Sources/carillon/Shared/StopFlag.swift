import Synchronization

/// Set by a signal that asks a command to end. Any thread.
final class StopFlag: Sendable {
    private let flag = Atomic<Bool>(false)

    var isSet: Bool { flag.load(ordering: .relaxed) }

    func set() { flag.store(true, ordering: .relaxed) }

    /// Returns once it is set, at most 50 ms later.
    func wait() async {
        while !isSet { try? await Task.sleep(for: .milliseconds(50)) }
    }
}
