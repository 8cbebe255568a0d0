import Glibc

/// The file that marks a store as in use, so that the next start knows whether it was closed (docs/design.md §7).
struct UseMarker {
    enum State: String {
        /// In use, or its process died.
        case open
        /// A scan of an unclean store is running, or killed its process.
        case checking
        /// A value did not match its checksum.
        case damaged
    }

    static let fileName = "in-use"
    let folder: String

    private var path: String { folder + "/" + Self.fileName }

    /// What the last user left; nil if it closed the store. A marker that cannot be read counts as `damaged`.
    func read() -> State? {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return errno == ENOENT ? nil : .damaged }
        defer { Glibc.close(descriptor) }
        let text = withUnsafeTemporaryAllocation(byteCount: 32, alignment: 1) { buffer in
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            return String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
        }
        return State(rawValue: text) ?? .damaged
    }

    /// Durable when this returns, so that a power cut does not leave a store that looks closed.
    func write(_ state: State) throws(StoreError) {
        let temporary = path + ".new"
        let descriptor = Glibc.open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreError(code: errno, doing: "write the marker", in: folder) }
        var text = state.rawValue
        let written = text.withUTF8 { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        let problem = written == text.utf8.count && fsync(descriptor) == 0 ? 0 : (errno == 0 ? EIO : errno)
        Glibc.close(descriptor)
        guard problem == 0, rename(temporary, path) == 0 else {
            throw StoreError(code: problem == 0 ? errno : problem, doing: "write the marker", in: folder)
        }
        syncFolder()
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
