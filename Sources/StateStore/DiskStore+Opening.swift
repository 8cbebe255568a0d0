import CLMDB
import Glibc

extension DiskStore {
    /// Opens the store in a folder, or creates one.
    ///
    /// A store that was not closed is checked first (about 1 s per million entries). A damaged store is wiped, and the
    /// result gives the reason. The caller must keep other processes out, by a lock on the folder.
    /// - Parameter largestSize: bytes of address space; the store cannot grow beyond it.
    package static func open(
        _ path: String, largestSize: Int = defaultLargestSize
    ) throws(StoreError) -> (store: DiskStore, opening: StoreOpening) {
        let folder = try StoreFolder(path)
        let marker = UseMarker(folder: path)
        let reason: String
        switch marker.read() {
        case nil where folder.dataLength == 0, .open where folder.dataLength == 0:
            return (try make(in: folder, marker, largestSize), .created)
        case nil:
            do throws(StoreError) {
                try marker.write(.open)
                let environment = try Environment(in: folder, largestSize: largestSize)
                return (DiskStore(environment, folder, marker), .clean)
            } catch {
                guard error.recovery == .wipe else { throw error }
                reason = error.description
            }
        case .open:
            do throws(StoreError) {
                return (try check(folder, marker, largestSize), .checked)
            } catch {
                guard error.recovery == .wipe else { throw error }
                reason = error.description
            }
        case .checking:
            reason = "the store in \(path) was not closed, and checking it did not end"
        case .damaged:
            reason = "the store in \(path) has a damaged value"
        }
        return (try make(in: folder, marker, largestSize), .wiped(reason: reason))
    }

    /// Checks every page of a store that was not closed, then has LMDB look up every key. If that kills the process,
    /// the marker shows it at the next start.
    private static func check(
        _ folder: StoreFolder, _ marker: UseMarker, _ largestSize: Int
    ) throws(StoreError) -> DiskStore {
        try marker.write(.checking)
        try PageCheck.check(folder)
        let environment = try Environment(in: folder, largestSize: largestSize)
        do throws(StoreError) {
            _ = try environment.scan(folder.path)
            try marker.write(.open)
        } catch {
            mdb_env_close(environment.handle)
            throw error
        }
        return DiskStore(environment, folder, marker)
    }

    private static func make(
        in folder: StoreFolder, _ marker: UseMarker, _ largestSize: Int
    ) throws(StoreError) -> DiskStore {
        try marker.write(.open)
        try folder.removeFiles()
        return DiskStore(try Environment(in: folder, largestSize: largestSize), folder, marker)
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
        let environment = try Environment(in: folder, largestSize: largestSize).withoutSync()
        return DiskStore(environment, folder, UseMarker(folder: path))
    }
}
