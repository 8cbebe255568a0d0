import Foundation
import Glibc

/// The folder of one instance's state, held by one process at a time.
///
/// The kernel releases the lock with the process, so a crash leaves none behind. The folder is 0700: it holds tokens. It may
/// be a volume that root owns and a group may write; nobody else may own it or write in it, since whoever may could have this
/// process write through a link.
package struct StateFolder: ~Copyable {
    package let path: String
    /// To be kept by whatever may write in the folder for longer than this value lives.
    package let lock: FolderLock

    /// Makes the folder and takes its lock.
    ///
    /// - Parameter parent: the state folder that it is a part of, if it is: no link in there is followed.
    /// - Throws: ``PipelineError/instanceInUse(_:)`` where another process has it, ``PipelineError/decisionNeeded(_:)``
    ///   where it cannot be made, or somebody else may write in it.
    package init(path: String, inside parent: String? = nil) throws(PipelineError) {
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
        if let parent { close(try Self.open(parent, 0)) }
        // The outer folder may be a link, as systemd makes it.
        let folder = try Self.open(path, parent == nil ? 0 : O_NOFOLLOW)
        defer { close(folder) }
        let descriptor = openat(folder, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.cannotWrite(in: path) }
        let lock = FolderLock(descriptor)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw .instanceInUse(
                "another process works in \(path): a second process on a host needs its own instance.id")
        }
        self.path = path
        self.lock = lock
    }

    private static func cannotWrite(in path: String) -> PipelineError {
        .decisionNeeded(
            "state.dir: cannot write in \(path): \(String(cString: strerror(errno))); set state.dir (--state-dir) to a "
                + "folder that this user may write in")
    }

    /// Opens a folder in which nobody else may write.
    private static func open(_ path: String, _ flags: Int32) throws(PipelineError) -> Int32 {
        let folder = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags)
        guard folder >= 0 else { throw cannotWrite(in: path) }
        do throws(PipelineError) {
            try checkOwner(of: folder, path)
        } catch {
            close(folder)
            throw error
        }
        return folder
    }

    private static func checkOwner(of folder: Int32, _ path: String) throws(PipelineError) {
        var status = stat()
        guard fstat(folder, &status) == 0 else { throw cannotWrite(in: path) }
        if status.st_uid != 0, status.st_uid != geteuid() {
            throw .decisionNeeded(
                "state.dir: \(path) belongs to user \(status.st_uid), and this process is user \(geteuid()): set state.dir "
                    + "(--state-dir) to a folder of this user, or give it this one with chown")
        }
        if status.st_mode & S_IWOTH != 0 {
            throw .decisionNeeded(
                "state.dir: every user may write in \(path): set state.dir (--state-dir) to a folder in it, or protect it "
                    + "with chmod o-w")
        }
    }

    /// Where a worker keeps the state of its orders, or of another source.
    package static func states(of source: String, in path: String, worker: Int) -> String {
        "\(path)/\(source)-\(worker)"
    }

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
