import Glibc
import Synchronization

/// A folder that one store of this process has open. LMDB corrupts its lock table when a process opens a file twice.
final class StoreFolder: Sendable {
    /// Distinguishes a folder from all others of the running system.
    private struct Identity: Hashable {
        let device: UInt64
        let inode: UInt64

        /// Nil, with `errno`, if it cannot be asked for.
        init?(_ descriptor: Int32) {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { return nil }
            device = UInt64(status.st_dev)
            inode = UInt64(status.st_ino)
        }
    }

    private static let inUse = Mutex<Set<Identity>>([])

    let path: String
    private let identity: Identity
    private let owned = Atomic(true)

    static let fileNames = ["data.mdb", "lock.mdb"]

    /// Creates the folder if it is missing, and gives access to its owner only: it holds tokens (docs/code.md §7). Neither
    /// the folder nor a file of the store may be a link.
    init(_ path: String) throws(StoreError) {
        try Self.make(path)
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard folder >= 0 else { throw StoreError(code: errno, doing: "open the folder", in: path) }
        defer { close(folder) }
        guard fchmod(folder, 0o700) == 0 else { throw StoreError(code: errno, doing: "protect the folder", in: path) }
        // Of its owner alone now: what is no link does not become one.
        try Self.refuseLinks(in: folder, path)
        guard let identity = Identity(folder) else {
            throw StoreError(code: errno, doing: "open the folder", in: path)
        }
        guard Self.inUse.withLock({ $0.insert(identity).inserted }) else {
            throw StoreError(.alreadyOpen, "the store in \(path) is already open in this process")
        }
        self.path = path
        self.identity = identity
    }

    deinit {
        release()
    }

    /// Lets another store of this process open the folder.
    func release() {
        guard owned.exchange(false, ordering: .relaxed) else { return }
        _ = Self.inUse.withLock { $0.remove(identity) }
    }

    var dataFile: String { path + "/" + Self.fileNames[0] }

    /// The length of the data file; 0 if there is none.
    var dataLength: Int {
        var status = stat()
        return stat(dataFile, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Whether its file system has less room than LMDB writes at once (64 pages).
    var hasNoRoom: Bool {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return false }
        return status.f_bavail * status.f_frsize < 1 << 20
    }

    func removeFiles() throws(StoreError) {
        for name in Self.fileNames where unlink(path + "/" + name) != 0 && errno != ENOENT {
            throw StoreError(code: errno, doing: "delete the old files", in: path)
        }
    }

    /// LMDB would write through a link.
    private static func refuseLinks(in folder: Int32, _ path: String) throws(StoreError) {
        for name in fileNames {
            var status = stat()
            guard fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_mode & S_IFMT == S_IFLNK else {
                continue
            }
            throw StoreError(code: ELOOP, doing: "open \(name)", in: path)
        }
    }

    private static func make(_ path: String) throws(StoreError) {
        if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, let slash = path.dropLast().lastIndex(of: "/"), slash > path.startIndex else {
            throw StoreError(code: errno, doing: "make the folder", in: path)
        }
        try make(String(path[..<slash]))
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw StoreError(code: errno, doing: "make the folder", in: path)
        }
    }
}
