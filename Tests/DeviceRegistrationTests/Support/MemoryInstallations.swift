import Synchronization

@testable import DeviceRegistration

/// A store in memory, which a test locks.
final class MemoryInstallations: InstallationStore {
    struct Locked: Error {}

    private let state = Mutex<(text: String?, isLocked: Bool)>((nil, false))

    var text: String? { state.withLock { $0.text } }
    func lock(_ isLocked: Bool) { state.withLock { $0.isLocked = isLocked } }

    func load() throws -> String? {
        try state.withLock { state in
            if state.isLocked { throw Locked() }
            return state.text
        }
    }

    func save(_ text: String) throws {
        try state.withLock { state in
            if state.isLocked { throw Locked() }
            state.text = text
        }
    }
}
