import CLMDB
import Glibc

extension DiskStore {
    /// Opens the store in a folder, or creates one.
    ///
    /// A store that was not closed is used as it is if only its process has ended since, but not for the third time in a
    /// row (ADR 46). A store that cannot be trusted is wiped, and the result gives the reason. The caller must keep other
    /// processes out, by a lock on the folder.
    /// - Parameters:
    ///   - largestSize: bytes of address space; the store cannot grow beyond it.
    ///   - boot: the running system's boot id; nil: a store that was not closed is wiped.
    package static func open(
        _ path: String, largestSize: Int = defaultLargestSize, boot: String? = UseMarker.currentBoot()
    ) throws(StoreError) -> (store: DiskStore, opening: StoreOpening) {
        let folder = try StoreFolder(path)
        let marker = UseMarker(folder: path, boot: boot)
        func open(starts: Int) throws(StoreError) -> DiskStore {
            try marker.write(starts: starts)
            return DiskStore(try Environment(in: folder, largestSize: largestSize), folder, marker)
        }

        var opening = StoreOpening.created
        if folder.dataLength > 0 {
            do throws(StoreError) {
                switch marker.read() {
                case .closed: return (try open(starts: 0), .clean)
                case .unclosed(let starts): return (try open(starts: starts), .unclosed)
                case .untrusted(let reason): opening = .wiped(reason: reason)
                }
            } catch {
                guard error.recovery == .wipe else { throw error }
                opening = .wiped(reason: error.description)
            }
        }
        // Before the marker: a store that must not be used never has one that admits it.
        try folder.removeFiles()
        return (try open(starts: 0), opening)
    }

    /// Deletes the store in a folder. The next start rebuilds it from the log.
    package static func wipe(_ path: String) throws(StoreError) {
        let folder = try StoreFolder(path)
        try folder.removeFiles()
        UseMarker(folder: path, boot: nil).remove()
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
        return DiskStore(environment, folder, nil)
    }
}
