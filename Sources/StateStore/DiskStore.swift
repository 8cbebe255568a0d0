import CLMDB
import Glibc
import Synchronization

/// A store in a folder, over LMDB (design §7).
///
/// A transaction is begun and committed by the same call of ``write(_:)``, so on one thread, as LMDB wants it.
/// `@unchecked Sendable`: `environment` is used only while ``usage`` says open and is closed with no reader left; LMDB
/// itself allows one writer and many readers at the same time.
package final class DiskStore: OrderedStore, @unchecked Sendable {
    private struct Usage {
        var readers = 0
        var isClosed = false
        var isDamaged = false
    }

    /// Reserved address space, not disk: 64 GiB hold more than 150 million devices.
    package static let defaultLargestSize = 64 << 30

    let environment: Environment
    let folder: StoreFolder
    private let marker: UseMarker
    private let usage = Mutex(Usage())
    /// Held through a write; LMDB's own lock would also do, and would not show that the store is closed.
    private let turn = Mutex(())

    init(_ environment: Environment, _ folder: StoreFolder, _ marker: UseMarker) {
        self.environment = environment
        self.folder = folder
        self.marker = marker
    }

    deinit {
        // Every reader holds the store, so none is left here.
        closeFiles()
    }

    package func makeReader() throws(StoreError) -> any StoreReader {
        try beginReading()
        do throws(StoreError) {
            return try DiskReader(self)
        } catch {
            readerIsGone()
            throw error
        }
    }

    package func write(_ body: (any StoreWriter) throws(StoreError) -> Void) throws(StoreError) {
        try turn.withLock { _ throws(StoreError) in
            guard !usage.withLock({ $0.isClosed }) else { throw .closed }
            var transaction: OpaquePointer?
            try check(mdb_txn_begin(environment.handle, nil, 0, &transaction), "begin", folder.path)
            do throws(StoreError) {
                try body(DiskWriter(self, transaction))
            } catch {
                mdb_txn_abort(transaction)
                throw noted(error)
            }
            try commit(transaction)
            coverLastPage()
        }
    }

    /// LMDB calls a write that the disk had no more room for an input/output error (`mdb_page_flush`: "filesystem full?").
    private func commit(_ transaction: OpaquePointer?) throws(StoreError) {
        let code = mdb_txn_commit(transaction)
        guard code != 0 else { return }
        let isFull = code == EIO && folder.hasNoRoom
        throw noted(StoreError(code: isFull ? ENOSPC : code, doing: "commit", in: folder.path))
    }

    package func close() throws(StoreError) {
        let readers = usage.withLock { $0.readers }
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

    func readerIsGone() {
        usage.withLock { $0.readers -= 1 }
    }

    /// Remembers that the store is damaged, so that the next start wipes it whatever this process does.
    func noted(_ error: StoreError) -> StoreError {
        guard error.recovery == .wipe else { return error }
        let isNews = usage.withLock { usage in
            defer { usage.isDamaged = true }
            return !usage.isDamaged
        }
        if isNews {
            try? marker.write(.damaged)
        }
        return error
    }

    private func closeFiles() {
        let (isFirst, isDamaged) = usage.withLock { usage in
            defer { usage.isClosed = true }
            return (!usage.isClosed, usage.isDamaged)
        }
        guard isFirst else { return }
        mdb_env_close(environment.handle)
        folder.release()
        if !isDamaged {
            marker.remove()
        }
    }

    /// LMDB counts pages at the end that it took and gave back but never wrote; the file is made to reach over them
    /// (no disk is used), so that a short file always means a truncated one.
    private func coverLastPage() {
        guard let needed = try? Environment.neededLength(of: environment.handle, in: folder.path),
            needed < Int.max, folder.dataLength < needed
        else { return }
        truncate(folder.dataFile, needed)
    }
}

extension DiskStore {
    /// Looks up every key and compares every checksum, beside readers and writer.
    /// - Returns: the number of entries.
    package func verify() throws(StoreError) -> Int {
        try beginReading()
        defer { readerIsGone() }
        do throws(StoreError) {
            return try environment.scan(folder.path)
        } catch {
            throw noted(error)
        }
    }
}
