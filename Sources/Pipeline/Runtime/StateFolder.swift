import Foundation
import Glibc

/// The folder of one instance's state, held by one process at a time.
///
/// The kernel releases the lock with the process, so a crash leaves none behind. The folder is 0700: it holds tokens.
package struct StateFolder: ~Copyable {
    package let path: String
    /// To be kept by whatever may write in the folder for longer than this value lives.
    package let lock: FolderLock

    /// Makes the folder and takes its lock.
    ///
    /// - Throws: ``PipelineError/instanceInUse(_:)`` where another process has it, ``PipelineError/decisionNeeded(_:)``
    ///   where it cannot be made.
    package init(path: String) throws(PipelineError) {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            // Foundation's error does not say why; the system's does.
            let reason = mkdir(path, 0o700) == 0 ? "try again" : String(cString: strerror(errno))
            throw .decisionNeeded(
                "state.dir: cannot make \(path): \(reason); set state.dir (--state-dir) to a folder that this user may make "
                    + "and write in")
        }
        let descriptor = open(path + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw .decisionNeeded(
                "state.dir: cannot write in \(path): \(String(cString: strerror(errno))); set state.dir (--state-dir) to a "
                    + "folder that this user may write in")
        }
        let lock = FolderLock(descriptor)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw .instanceInUse(
                "another process works in \(path): a second process on a host needs its own instance.id")
        }
        self.path = path
        self.lock = lock
    }

    /// Where a worker keeps the state of its orders.
    package static func orders(in path: String, worker: Int) -> String { "\(path)/orders-\(worker)" }

    /// Where the subscriptions table lives.
    package var table: String { path + "/subscriptions" }
}

/// The lock of a state folder. It is released with the last reference to it, or with the process.
package final class FolderLock: Sendable {
    private let descriptor: Int32

    fileprivate init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }
}
