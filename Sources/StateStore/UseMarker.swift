import Glibc

/// In which start of the system a store is used, and in which file. If both are still the same, a store that was not
/// closed is what its process left, even if that was killed: the system keeps what was written (ADR 45).
struct StoreUse: Equatable {
    /// After so many starts in a row that used the store unchecked and did not close it, it is checked: if damage has
    /// ended them, it does not end the next ones too.
    static let mostUnchecked = 3

    var boot: BootID
    /// A copy of a folder has another one: it may have been made while the store was written.
    var file: FileIdentity
    /// How many starts in a row have used the store unchecked although it was not closed.
    var unchecked = 0

    /// Whether the store may be used as it is by a start of the same system.
    func isTrusted(by boot: BootID?, _ file: FileIdentity?) -> Bool {
        boot.map { self.boot.isSame(as: $0) } == true && self.file == file && unchecked < Self.mostUnchecked
    }
}

/// The file that marks a store as in use, so that the next start knows whether it was closed (docs/code.md §7).
struct UseMarker {
    enum State: Equatable {
        /// In use, or its process died. Without a use the store must be checked.
        case open(StoreUse?)
        /// A scan of an unclean store is running, or killed its process.
        case checking
        /// A value did not match its checksum.
        case damaged
    }

    static let fileName = "in-use"
    private static let open = "open"
    let folder: String

    private var path: String { folder + "/" + Self.fileName }

    /// What the last user left; nil if it closed the store. A marker that cannot be read counts as `damaged`.
    func read() -> State? {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return errno == ENOENT ? nil : .damaged }
        defer { Glibc.close(descriptor) }
        let text = withUnsafeTemporaryAllocation(byteCount: 128, alignment: 1) { buffer in
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            return String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
        }
        return State(text) ?? .damaged
    }

    /// Durable when this returns, so that a power cut does not leave a store that looks closed.
    func write(_ state: State) throws(StoreError) {
        let temporary = path + ".new"
        let descriptor = Glibc.open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreError(code: errno, doing: "write the marker", in: folder) }
        var text = state.text
        let written = text.withUTF8 { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        let problem = written == text.utf8.count && fsync(descriptor) == 0 ? 0 : (errno == 0 ? EIO : errno)
        Glibc.close(descriptor)
        guard problem == 0, rename(temporary, path) == 0 else {
            throw StoreError(code: problem == 0 ? errno : problem, doing: "write the marker", in: folder)
        }
        syncFolder()
    }

    /// Turns a marker that says `open` into one that makes the next start check the store. Cuts it off in place, which
    /// needs no room on the disk.
    func demandCheck() {
        let descriptor = Glibc.open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        ftruncate(descriptor, off_t(Self.open.utf8.count))
        fsync(descriptor)
        Glibc.close(descriptor)
    }

    func remove() {
        unlink(path)
        syncFolder()
    }

    private func syncFolder() {
        let descriptor = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        Glibc.close(descriptor)
    }
}

extension UseMarker.State {
    /// `checking`, `damaged`, `open`, or `open <boot id> <start of the system> <device>:<inode> <unchecked>`. Versions
    /// that do not know the last form take it for damage, and wipe the store.
    var text: String {
        switch self {
        case .open(let use?):
            "open \(use.boot.text) \(use.boot.time) \(use.file.device):\(use.file.inode) \(use.unchecked)"
        case .open(nil): "open"
        case .checking: "checking"
        case .damaged: "damaged"
        }
    }

    /// Nil if the text is not that of a state, and all of it.
    init?(_ text: String) {
        switch text {
        case "checking": self = .checking
        case "damaged": self = .damaged
        case "open": self = .open(nil)
        default:
            let words = text.split(separator: " ", omittingEmptySubsequences: false)
            guard words.count == 5, words[0] == "open", let time = Int64(words[2]),
                let boot = BootID(words[1], time: time), let file = FileIdentity(words[3]),
                let unchecked = Int(words[4]), unchecked >= 0
            else { return nil }
            self = .open(StoreUse(boot: boot, file: file, unchecked: unchecked))
        }
    }
}

/// Which file or folder this is, among all of the running system.
struct FileIdentity: Hashable {
    let device: UInt64
    let inode: UInt64

    /// Nil, with `errno`, if there is nothing at this path.
    init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
    }

    /// From `<device>:<inode>`; nil for another text.
    init?(_ text: some StringProtocol) {
        let numbers = text.split(separator: ":", omittingEmptySubsequences: false)
        guard numbers.count == 2, let device = UInt64(numbers[0]), let inode = UInt64(numbers[1]) else { return nil }
        self.device = device
        self.inode = inode
    }
}
