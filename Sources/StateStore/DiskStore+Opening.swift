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
    ///   - forgivesUnclean: whether something else than damage explains unclean ends, or nothing may be wiped for them: any
    ///     number in a row is then accepted.
    package static func open(
        _ path: String, largestSize: Int = defaultLargestSize, boot: String? = UseMarker.currentBoot(),
        forgivesUnclean: Bool = false
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
                switch marker.read(mostUnclean: forgivesUnclean ? .max : UseMarker.mostUnclean) {
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
}
