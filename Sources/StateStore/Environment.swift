import CLMDB
import Glibc

/// An open LMDB environment: its handle and its two databases, one for entries and one for the checkpoint.
///
/// No `MDB_WRITEMAP` (a stray pointer must not damage it), and no `MDB_NOSYNC` except where ``setSynced(_:)`` says so (a
/// power cut must not damage it). `MDB_NOTLS`, because several readers may live on one thread and move between threads. Read-ahead stays
/// on: the table usually fits into memory, and it makes the first reads after a start faster (`MDB_NORDAHEAD` pays off
/// only if it does not fit).
struct Environment {
    let handle: OpaquePointer
    let entries: MDB_dbi
    let checkpoint: MDB_dbi
    /// Whether the folder held no data before.
    let isNew: Bool

    /// Opens or creates the files in the folder. Touches only the first two pages until the file is known to reach to
    /// the last one: a shorter file would end the process with SIGBUS.
    init(in folder: StoreFolder, largestSize: Int) throws(StoreError) {
        let path = folder.path
        isNew = folder.dataLength == 0
        let handle = try Self.open(path, largestSize: largestSize)
        do throws(StoreError) {
            try Self.checkLength(of: handle, length: folder.dataLength, in: path)
            var stale: Int32 = 0
            try check(mdb_reader_check(handle, &stale), "clear old readers", path)
            (entries, checkpoint) = try Self.openDatabases(handle, path, creates: isNew)
        } catch {
            mdb_env_close(handle)
            throw error
        }
        self.handle = handle
    }

    /// Sets whether commits wait for the disk. Only between transactions of the writer.
    ///
    /// - Returns: whether they did.
    @discardableResult
    func setSynced(_ isSynced: Bool) -> Bool {
        var flags: UInt32 = 0
        mdb_env_get_flags(handle, &flags)
        mdb_env_set_flags(handle, UInt32(MDB_NOSYNC), isSynced ? 0 : 1)
        return flags & UInt32(MDB_NOSYNC) == 0
    }

    /// Writes to the disk what is not there yet; false if that fails.
    func sync() -> Bool { mdb_env_sync(handle, 1) == 0 }

    /// Reserves address space, not memory or disk; if the process may not have that much, tries half.
    private static func open(_ path: String, largestSize: Int) throws(StoreError) -> OpaquePointer {
        var size = largestSize
        while true {
            var created: OpaquePointer?
            try check(mdb_env_create(&created), "prepare", path)
            guard let handle = created else { throw StoreError(code: ENOMEM, doing: "prepare", in: path) }
            mdb_env_set_maxdbs(handle, 2)
            mdb_env_set_mapsize(handle, size)
            let code = mdb_env_open(handle, path, UInt32(MDB_NOTLS), 0o600)
            if code == 0 { return handle }
            mdb_env_close(handle)
            guard code == ENOMEM, size > 1 << 30 else { throw StoreError(code: code, doing: "open", in: path) }
            size /= 2
        }
    }

    private static func checkLength(of handle: OpaquePointer, length: Int, in path: String) throws(StoreError) {
        let needed = try Self.neededLength(of: handle, in: path)
        guard length == 0 || length >= needed else {
            throw StoreError(
                .damaged,
                "the store in \(path) is damaged (\(length) of \(needed) bytes); delete it, and it is rebuilt")
        }
    }

    /// The bytes up to the last page that LMDB may read.
    static func neededLength(of handle: OpaquePointer, in path: String) throws(StoreError) -> Int {
        var information = MDB_envinfo()
        var statistics = MDB_stat()
        try check(mdb_env_info(handle, &information), "inspect", path)
        try check(mdb_env_stat(handle, &statistics), "inspect", path)
        let (needed, overflow) = (information.me_last_pgno + 1).multipliedReportingOverflow(
            by: Int(statistics.ms_psize))
        return overflow ? Int.max : needed
    }

    /// - Parameter creates: otherwise LMDB only reads: it has no check of a page into which it writes, and its writes to a
    ///   damaged one leave the page's memory.
    private static func openDatabases(
        _ handle: OpaquePointer, _ path: String, creates: Bool
    ) throws(StoreError) -> (MDB_dbi, MDB_dbi) {
        var transaction: OpaquePointer?
        try check(mdb_txn_begin(handle, nil, creates ? 0 : UInt32(MDB_RDONLY), &transaction), "begin", path)
        let flags = creates ? UInt32(MDB_CREATE) : 0
        var entries: MDB_dbi = 0
        var checkpoint: MDB_dbi = 0
        do throws(StoreError) {
            try check(mdb_dbi_open(transaction, "entries", flags, &entries), "open", path)
            try check(mdb_dbi_open(transaction, "checkpoint", flags, &checkpoint), "open", path)
        } catch {
            mdb_txn_abort(transaction)
            throw error
        }
        try check(mdb_txn_commit(transaction), "commit", path)
        return (entries, checkpoint)
    }
}

/// Throws unless LMDB succeeded.
@inline(__always)
func check(_ code: Int32, _ operation: StaticString, _ path: String) throws(StoreError) {
    guard code == 0 else { throw StoreError(code: code, doing: "\(operation)", in: path) }
}

extension UnsafeRawBufferPointer {
    /// For LMDB, which does not write through it.
    var lmdbValue: MDB_val {
        MDB_val(mv_size: count, mv_data: UnsafeMutableRawPointer(mutating: baseAddress))
    }

    init(_ value: MDB_val) {
        self.init(start: value.mv_data, count: value.mv_size)
    }
}
