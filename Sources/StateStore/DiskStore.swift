import CLMDB
import Glibc
import Synchronization

/// A store in a folder, on top of LMDB (docs/code.md §7).
///
/// A transaction begins and commits within one call of ``write(_:)``, and therefore on one thread, as LMDB requires.
/// `@unchecked Sendable`: `environment` is used only while ``usage`` says that the store is open, and is closed only
/// when no reader is left; LMDB itself allows one writer and many concurrent readers.
package final class DiskStore: OrderedStore, @unchecked Sendable {
    private struct Usage {
        var readers = 0
        var isClosed = false
        var isReleased = false
        var isDamaged = false
    }

    /// Reserved address space, not disk: 64 GiB hold more than 150 million devices.
    package static let defaultLargestSize = 64 << 30

    let environment: Environment
    let folder: StoreFolder
    /// Nil for a store that is never opened again.
    private let marker: UseMarker
    private let usage = Mutex(Usage())
    /// Held during a write. LMDB's own lock would do as well, but does not show that the store is closed.
    private let turn = Mutex(())

    init(_ environment: Environment, _ folder: StoreFolder, _ marker: UseMarker) {
        self.environment = environment
        self.folder = folder
        self.marker = marker
    }

    deinit {
        // Every reader retains the store, so none is left here.
        closeFiles()
    }

    package func makeReader() throws(StoreError) -> any StoreReader {
        try beginReading()
        do throws(StoreError) {
            return try DiskReader(self)
        } catch {
            releaseReader()
            throw error
        }
    }

    package func write(_ body: (any StoreWriter) throws(StoreError) -> Void) throws(StoreError) {
        try turn.withLock { _ throws(StoreError) in try runTransaction(body) }
    }

    package func writeUnsynced(_ body: (any StoreWriter) throws(StoreError) -> Void) throws(StoreError) {
        try turn.withLock { _ throws(StoreError) in
            // Only a commit looks at the flag.
            let isSynced = environment.setSynced(false)
            defer { environment.setSynced(isSynced) }
            try runTransaction(body)
        }
    }

    private func runTransaction(_ body: (any StoreWriter) throws(StoreError) -> Void) throws(StoreError) {
        guard !usage.withLock({ $0.isClosed }) else { throw .closed }
        var transaction: OpaquePointer?
        do throws(StoreError) {
            try check(mdb_txn_begin(environment.handle, nil, 0, &transaction), "begin", folder.path)
            do throws(StoreError) {
                try body(DiskWriter(self, transaction))
            } catch {
                mdb_txn_abort(transaction)
                throw error
            }
            try commit(transaction)
        } catch {
            throw markingDamage(error)
        }
        extendToLastPage()
    }

    /// LMDB reports a write to a full disk as an input/output error (`mdb_page_flush`: "filesystem full?").
    private func commit(_ transaction: OpaquePointer?) throws(StoreError) {
        let code = mdb_txn_commit(transaction)
        guard code != 0 else { return }
        let isFull = code == EIO && folder.hasNoRoom
        throw StoreError(code: isFull ? ENOSPC : code, doing: "commit", in: folder.path)
    }

    package func close() throws(StoreError) {
        // Checks and closes in one step, so that no reader begins in between: a write in progress may delay closing the
        // files.
        let readers = usage.withLock { usage in
            usage.isClosed = usage.readers == 0
            return usage.readers
        }
        guard readers == 0 else { throw StoreError(.inUse, "\(readers) readers of \(folder.path) are in use") }
        turn.withLock { _ in closeFiles() }
    }

    private func beginReading() throws(StoreError) {
        let isOpen = usage.withLock { usage in
            usage.readers += usage.isClosed ? 0 : 1
            return !usage.isClosed
        }
        guard isOpen else { throw .closed }
    }

    func releaseReader() {
        usage.withLock { $0.readers -= 1 }
    }

    /// Marks the store as damaged, if that is what the error says, so that the next start wipes it. Returns the error.
    func markingDamage(_ error: StoreError) -> StoreError {
        guard error.recovery == .wipe else { return error }
        let isFirst = usage.withLock { usage in
            defer { usage.isDamaged = true }
            return !usage.isDamaged
        }
        if isFirst { marker.distrust() }
        return error
    }

    private func closeFiles() {
        let (isFirst, isDamaged) = usage.withLock { usage in
            defer { (usage.isClosed, usage.isReleased) = (true, true) }
            return (!usage.isReleased, usage.isDamaged)
        }
        guard isFirst else { return }
        // What was written unsynced, or by a predecessor that was killed, may not be on disk yet.
        let isSound = !isDamaged && environment.sync()
        mdb_env_close(environment.handle)
        folder.release()
        if isSound { marker.remove() }
    }

    /// LMDB counts pages at the end that it allocated and freed but never wrote. Extends the file over them, which uses
    /// no disk, so that a short file always means a truncated one.
    private func extendToLastPage() {
        guard let needed = try? Environment.neededLength(of: environment.handle, in: folder.path),
            needed < Int.max, folder.dataLength < needed
        else { return }
        truncate(folder.dataFile, needed)
    }
}
