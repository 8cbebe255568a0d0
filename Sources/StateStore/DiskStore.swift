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
        var verdict = Verdict.sound
        /// Whether the last transaction may not be on disk.
        var isUnsynced = false
    }

    /// What the next start must do about what happened while the store was open.
    private enum Verdict {
        case sound
        /// A write or a sync has failed: the store is checked.
        case suspect
        /// The store is wiped.
        case damaged
    }

    /// Reserved address space, not disk: 64 GiB hold more than 150 million devices.
    package static let defaultLargestSize = 64 << 30

    let environment: Environment
    let folder: StoreFolder
    private let marker: UseMarker
    private let wasUnclosed: Bool
    private let usage = Mutex(Usage())
    /// Held during a write. LMDB's own lock would do as well, but does not show that the store is closed.
    private let turn = Mutex(())

    /// - Parameter wasUnclosed: its predecessor was killed, and it was not checked.
    init(_ environment: Environment, _ folder: StoreFolder, _ marker: UseMarker, wasUnclosed: Bool = false) {
        self.environment = environment
        self.folder = folder
        self.marker = marker
        self.wasUnclosed = wasUnclosed
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
        try turn.withLock { _ throws(StoreError) in
            try runTransaction(body)
            usage.withLock { $0.isUnsynced = false }
        }
    }

    package func writeUnsynced(_ body: (any StoreWriter) throws(StoreError) -> Void) throws(StoreError) {
        try turn.withLock { _ throws(StoreError) in
            usage.withLock { $0.isUnsynced = true }
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
            throw noting(error)
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
            defer { usage.verdict = .damaged }
            return usage.verdict != .damaged
        }
        if isFirst {
            do throws(StoreError) {
                try marker.write(.damaged)
            } catch {
                // A new file may have no room; this one has.
                marker.demandCheck()
            }
        }
        return error
    }

    /// Notes what the next start must do about an error of a write. What the disk has of a write that failed is not
    /// known: the store is checked then, whatever has been written since. Returns the error.
    private func noting(_ error: StoreError) -> StoreError {
        switch error.kind {
        case .damaged: return markingDamage(error)
        case .diskFull, .system:
            let isFirst = usage.withLock { usage in
                guard usage.verdict == .sound else { return false }
                usage.verdict = .suspect
                return true
            }
            if isFirst { marker.demandCheck() }
            return error
        case .storeFull, .alreadyOpen, .inUse, .tooManyReaders, .closed, .invalidKey: return error
        }
    }

    private func closeFiles() {
        let (isFirst, verdict, isUnsynced) = usage.withLock { usage in
            defer { (usage.isClosed, usage.isReleased) = (true, true) }
            return (!usage.isReleased, usage.verdict, usage.isUnsynced)
        }
        guard isFirst else { return }
        // What a predecessor that was killed has written may not be on disk yet.
        let isOnDisk = !wasUnclosed || verdict != .sound || environment.sync()
        mdb_env_close(environment.handle)
        folder.release()
        switch verdict {
        // What is not on disk is there for as long as the machine is up, as after a kill.
        case .sound where isUnsynced || !isOnDisk: break
        case .sound: marker.remove()
        // Its marker says so already.
        case .suspect, .damaged: break
        }
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

extension DiskStore {
    /// Looks up every key and compares every checksum, concurrently with readers and the writer.
    /// - Returns: the number of entries.
    package func verify() throws(StoreError) -> Int {
        try beginReading()
        defer { releaseReader() }
        do throws(StoreError) {
            return try environment.scan(folder.path)
        } catch {
            throw markingDamage(error)
        }
    }
}
