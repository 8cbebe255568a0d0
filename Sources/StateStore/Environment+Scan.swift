import CLMDB
import Glibc

extension Environment {
    /// Reads every entry in order, compares its checksum, and looks its key up from the root.
    ///
    /// Finds flipped bits in values and keys, keys out of order, and branches that lead to the wrong page.
    /// - Returns: the number of entries.
    func scan(_ path: String) throws(StoreError) -> Int {
        var transaction: OpaquePointer?
        try check(mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction), "begin", path)
        defer { mdb_txn_abort(transaction) }
        var cursor: OpaquePointer?
        try check(mdb_cursor_open(transaction, entries, &cursor), "read", path)
        defer { mdb_cursor_close(cursor) }

        var key = MDB_val()
        var value = MDB_val()
        var previous = MDB_val()
        var seen = 0
        var code = mdb_cursor_get(cursor, &key, &value, MDB_FIRST)
        while code == 0 {
            _ = try ChecksummedValue.open(value, key: key, path)
            guard seen == 0 || mdb_cmp(transaction, entries, &previous, &key) < 0 else {
                throw StoreError(.damaged, "the store in \(path) is damaged: its keys are out of order; delete it")
            }
            var found = MDB_val()
            let foundCode = mdb_get(transaction, entries, &key, &found)
            // The cursor has just returned the key, so not finding it is damage.
            guard foundCode != MDB_NOTFOUND, foundCode != 0 || found.mv_data == value.mv_data else {
                throw StoreError(.damaged, "the store in \(path) is damaged: a key is not where it belongs; delete it")
            }
            try check(foundCode, "look a key up", path)
            previous = key
            seen += 1
            code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
        }
        guard code == MDB_NOTFOUND else { throw StoreError(code: code, doing: "read", in: path) }
        var statistics = MDB_stat()
        try check(mdb_stat(transaction, entries, &statistics), "inspect", path)
        guard seen == statistics.ms_entries else {
            throw StoreError(
                .damaged, "the store in \(path) is damaged: \(seen) of \(statistics.ms_entries) entries; delete it")
        }
        return seen
    }
}

/// A value as it is stored: its checksum, 8 bytes, then the value.
enum ChecksummedValue {
    /// The value without its checksum; throws if they do not match.
    @inline(__always)
    static func open(
        _ stored: MDB_val, key: MDB_val, _ path: @autoclosure () -> String
    ) throws(StoreError) -> UnsafeRawBufferPointer {
        let bytes = UnsafeRawBufferPointer(stored)
        guard bytes.count >= Checksum.byteCount else { throw damaged(path()) }
        let value = UnsafeRawBufferPointer(rebasing: bytes[Checksum.byteCount...])
        guard bytes.loadUnaligned(as: UInt64.self) == Checksum.of(UnsafeRawBufferPointer(key), value) else {
            throw damaged(path())
        }
        return value
    }

    /// For `MDB_RESERVE`, by which LMDB gives room in the page itself: ``write(_:key:to:)`` fills it in place.
    @inline(__always)
    static func room(for value: UnsafeRawBufferPointer) -> MDB_val {
        MDB_val(mv_size: Checksum.byteCount + value.count, mv_data: nil)
    }

    @inline(__always)
    static func write(_ value: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, to room: MDB_val) {
        guard let target = room.mv_data else { return }
        target.storeBytes(of: Checksum.of(key, value), as: UInt64.self)
        if let source = value.baseAddress {
            (target + Checksum.byteCount).copyMemory(from: source, byteCount: value.count)
        }
    }

    private static func damaged(_ path: String) -> StoreError {
        StoreError(.damaged, "a value of the store in \(path) is damaged; delete the folder, and it is rebuilt")
    }
}
