import CLMDB
import Glibc

extension DiskStore {
    /// Opens the store in a folder, or makes one.
    ///
    /// One that was not closed is scanned first (about 1 s per million entries); one that cannot be trusted is wiped, and the
    /// result says why. The caller keeps other processes out, by a lock on the folder.
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

    /// Looks at every page of a store that was not closed, then lets LMDB look up every key. Should that kill the process,
    /// the marker says so.
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

    /// Deletes the store in a folder. The next start fills it again from the log.
    package static func wipe(_ path: String) throws(StoreError) {
        let folder = try StoreFolder(path)
        try folder.removeFiles()
        UseMarker(folder: path).remove()
    }

    /// An empty store whose files have no names: nobody else can open them, and the disk takes them back when the store or
    /// the process ends, however it ends.
    ///
    /// - Parameters:
    ///   - parent: an existing folder, whose file system takes the data.
    ///   - name: in the folder's name, for the moment in which there is one.
    package static func makeNameless(
        in parent: String, _ name: String, largestSize: Int = defaultLargestSize
    ) throws(StoreError) -> DiskStore {
        var template = Array("\(parent)/\(name)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw StoreError(code: errno, doing: "make a folder", in: parent) }
        let path = template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? parent }
        let folder = try StoreFolder(path)
        defer {
            // LMDB has both files open and mapped, and opens none of them again.
            try? folder.removeFiles()
            rmdir(path)
            // The next folder may get the number of this one.
            folder.release()
        }
        let environment = try Environment(in: folder, largestSize: largestSize).forgetful()
        return DiskStore(environment, folder, UseMarker(folder: path))
    }
}
