import CLMDB
import Glibc

extension DiskStore {
    /// Opens the store in a folder, or creates one.
    ///
    /// A store that was not closed is used as it is if only its process has ended since; otherwise it is checked first
    /// (0.4 s per million entries that are in memory). A damaged store is wiped, and the result gives the reason. The caller must keep
    /// other processes out, by a lock on the folder.
    /// - Parameters:
    ///   - largestSize: bytes of address space; the store cannot grow beyond it.
    ///   - boot: the start of the system; nil: any store that was not closed is checked.
    package static func open(
        _ path: String, largestSize: Int = defaultLargestSize, boot: BootID? = .current()
    ) throws(StoreError) -> (store: DiskStore, opening: StoreOpening) {
        let opener = Opener(
            folder: try StoreFolder(path), marker: UseMarker(folder: path), largestSize: largestSize, boot: boot)
        let reason: String
        switch opener.marker.read() {
        case nil where opener.folder.dataLength == 0, .open where opener.folder.dataLength == 0:
            return (try opener.make(), .created)
        case nil:
            do throws(StoreError) {
                return (try opener.use(unchecked: 0), .clean)
            } catch {
                guard error.recovery == .wipe else { throw error }
                reason = error.description
            }
        case .open(let use):
            do throws(StoreError) {
                guard let use, use.isTrusted(by: boot, opener.folder.dataIdentity) else {
                    return (try opener.check(), .checked)
                }
                return (try opener.use(unchecked: use.unchecked + 1), .unclosed)
            } catch {
                guard error.recovery == .wipe else { throw error }
                reason = error.description
            }
        case .checking:
            reason = "the store in \(path) was not closed, and checking it did not end"
        case .damaged:
            reason = "the store in \(path) has a damaged value"
        }
        return (try opener.make(), .wiped(reason: reason))
    }

    /// The ways to a store in a folder.
    private struct Opener {
        let folder: StoreFolder
        let marker: UseMarker
        let largestSize: Int
        let boot: BootID?

        /// The state of a store that is in use.
        private func open(unchecked: Int = 0) -> UseMarker.State {
            guard let boot, let file = folder.dataIdentity else { return .open(nil) }
            return .open(StoreUse(boot: boot, file: file, unchecked: unchecked))
        }

        /// Opens a store as it is.
        ///
        /// - Parameter unchecked: how many starts have done so in a row without closing it, this one included.
        func use(unchecked: Int) throws(StoreError) -> DiskStore {
            try marker.write(open(unchecked: unchecked))
            return DiskStore(
                try Environment(in: folder, largestSize: largestSize), folder, marker, wasUnclosed: unchecked > 0)
        }

        /// Checks every page of a store that was not closed, then has LMDB look up every key. If that kills the process,
        /// the marker shows it at the next start.
        func check() throws(StoreError) -> DiskStore {
            try marker.write(.checking)
            try PageCheck.check(folder)
            let environment = try Environment(in: folder, largestSize: largestSize)
            do throws(StoreError) {
                _ = try environment.scan(folder.path)
                try marker.write(open())
            } catch {
                mdb_env_close(environment.handle)
                throw error
            }
            return DiskStore(environment, folder, marker)
        }

        /// Creates a store in place of what is there. Only the new file has an identity, so the marker says so at last.
        func make() throws(StoreError) -> DiskStore {
            try marker.write(.open(nil))
            try folder.removeFiles()
            let store = DiskStore(try Environment(in: folder, largestSize: largestSize), folder, marker)
            try marker.write(open())
            return store
        }
    }

    /// Deletes the store in a folder. The next start rebuilds it from the log.
    package static func wipe(_ path: String) throws(StoreError) {
        let folder = try StoreFolder(path)
        try folder.removeFiles()
        UseMarker(folder: path).remove()
    }

    /// An empty store whose files are unlinked: nobody else can open them, and their disk space is freed when the store
    /// is closed or the process ends, even by a crash.
    ///
    /// - Parameters:
    ///   - parent: an existing folder, whose file system holds the data.
    ///   - name: part of the name of the folder, which exists only for a moment.
    package static func makeNameless(
        in parent: String, _ name: String, largestSize: Int = defaultLargestSize
    ) throws(StoreError) -> DiskStore {
        var template = Array("\(parent)/\(name)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw StoreError(code: errno, doing: "make a folder", in: parent) }
        let path = template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? parent }
        let folder = try StoreFolder(path)
        defer {
            // LMDB has both files open and mapped, and does not open them again.
            try? folder.removeFiles()
            rmdir(path)
            // A new folder may get the inode number of this one.
            folder.release()
        }
        let environment = try Environment(in: folder, largestSize: largestSize)
        // Its files are never opened again.
        environment.setSynced(false)
        return DiskStore(environment, folder, UseMarker(folder: path))
    }
}
