import CLMDB

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
