import CLMDB

/// One write transaction; ``DiskStore/write(_:)`` ends it.
final class DiskWriter: StoreWriter {
    private let store: DiskStore
    private let transaction: OpaquePointer?
    /// Of ``append(_:_:)``; LMDB closes it with the transaction.
    private var last: OpaquePointer?

    init(_ store: DiskStore, _ transaction: OpaquePointer?) {
        self.store = store
        self.transaction = transaction
    }

    func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError) {
        try put(in: store.environment.entries, key, value)
    }

    func append(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError) {
        if last == nil {
            try check(mdb_cursor_open(transaction, store.environment.entries, &last), "append", store.folder.path)
        }
        var lmdbKey = key.lmdbValue
        var room = ChecksummedValue.room(for: value)
        try check(
            mdb_cursor_put(last, &lmdbKey, &room, UInt32(MDB_RESERVE | MDB_APPEND)), "append", store.folder.path)
        ChecksummedValue.write(value, key: key, to: room)
    }

    @discardableResult
    func remove(_ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
        var key = key.lmdbValue
        let code = mdb_del(transaction, store.environment.entries, &key, nil)
        if code == MDB_NOTFOUND { return false }
        try check(code, "remove", store.folder.path)
        return true
    }

    func value(for key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer? {
        var key = key.lmdbValue
        var value = MDB_val()
        let code = mdb_get(transaction, store.environment.entries, &key, &value)
        if code == MDB_NOTFOUND { return nil }
        try check(code, "read", store.folder.path)
        return try ChecksummedValue.open(value, key: key, store.folder.path)
    }

    func removeAll() throws(StoreError) {
        try check(mdb_drop(transaction, store.environment.entries, 0), "empty", store.folder.path)
        try check(mdb_drop(transaction, store.environment.checkpoint, 0), "empty", store.folder.path)
    }

    func setCheckpoint(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        try put(in: store.environment.checkpoint, DiskReader.checkpointKey, bytes)
    }

    private func put(
        in database: MDB_dbi, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
    ) throws(StoreError) {
        var lmdbKey = key.lmdbValue
        var room = ChecksummedValue.room(for: value)
        try check(mdb_put(transaction, database, &lmdbKey, &room, UInt32(MDB_RESERVE)), "write", store.folder.path)
        ChecksummedValue.write(value, key: key, to: room)
    }
}
