/// An ordered key-value store whose transactions carry data and a checkpoint together (docs/code.md §7).
///
/// Keys are 1 to 511 bytes and ordered as unsigned bytes, a prefix before longer keys. A store holds only what can be
/// rebuilt from a log, so it is always safe to delete. One writer at a time, any number of readers; a reader sees one
/// snapshot, and neither waits for the writer nor blocks it.
package protocol OrderedStore: AnyObject, Sendable {
    /// A reader for one thread at a time. The store cannot be closed before its readers are released.
    func makeReader() throws(StoreError) -> any StoreReader

    /// Runs `body` as one transaction on the calling thread: stores all of it or, if it throws, nothing.
    ///
    /// Returns when the data is on disk. Calls from other threads wait; a call from within `body` deadlocks.
    func write(_ body: (any StoreWriter) throws(StoreError) -> Void) throws(StoreError)

    /// The same, but may return before the data is on disk, where the next ``write(_:)`` puts it too. If the machine goes
    /// down in between, the store may be found damaged, and be wiped.
    func writeUnsynced(_ body: (any StoreWriter) throws(StoreError) -> Void) throws(StoreError)

    /// Marks the store as properly closed and closes its files. Throws `.inUse` while a reader exists.
    func close() throws(StoreError)
}

extension OrderedStore {
    /// Of a store that has no disk.
    package func writeUnsynced(_ body: (any StoreWriter) throws(StoreError) -> Void) throws(StoreError) {
        try write(body)
    }
}

/// A key with its value. The bytes belong to the store and are valid until the reader's snapshot ends.
package struct StoreEntry {
    package let key: UnsafeRawBufferPointer
    package let value: UnsafeRawBufferPointer

    package init(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        self.key = key
        self.value = value
    }
}

/// Reads snapshots, one at a time. Every value is checked against its checksum when it is read.
///
/// Between ``end()`` and ``begin()`` there is no snapshot, and reading finds nothing.
package protocol StoreReader: AnyObject {
    /// Takes a snapshot of the latest commit in place of the previous one. 0.3 µs on disk.
    func begin() throws(StoreError)
    /// Ends the snapshot. A long-lived one keeps the writer from reusing pages, so the file grows.
    func end()
    /// The number of entries.
    func count() throws(StoreError) -> Int
    /// What ``StoreWriter/setCheckpoint(_:)`` stored.
    func checkpoint() throws(StoreError) -> UnsafeRawBufferPointer?
    func value(for key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer?
    /// Appends at most `limit` entries whose keys start with `prefix`, in key order; the empty prefix matches every
    /// key. One call for all of them, so that the protocol costs nothing per entry.
    ///
    /// - Parameter first: keys before this one are skipped; it starts with `prefix`. nil: none are.
    func append(
        startingWith prefix: UnsafeRawBufferPointer, from first: UnsafeRawBufferPointer?, limit: Int,
        to entries: inout [StoreEntry]
    ) throws(StoreError)
}

extension StoreReader {
    /// The same, from the first key of the prefix.
    package func append(
        startingWith prefix: UnsafeRawBufferPointer, limit: Int, to entries: inout [StoreEntry]
    ) throws(StoreError) {
        try append(startingWith: prefix, from: nil, limit: limit, to: &entries)
    }
}

/// Writes within one transaction; not to be used after it.
package protocol StoreWriter: AnyObject {
    /// Adds or replaces.
    func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError)
    /// Adds an entry whose key is after every key in the store: the fastest way to fill one, and the densest. In
    /// another order it throws.
    func append(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError)
    /// Returns whether the key was there.
    @discardableResult
    func remove(_ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool
    /// The value as this transaction sees it; valid until its next change.
    func value(for key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer?
    /// Removes every entry and the checkpoint.
    func removeAll() throws(StoreError)
    func setCheckpoint(_ bytes: UnsafeRawBufferPointer) throws(StoreError)
}

extension StoreWriter {
    /// Adds or replaces; without a value, removes.
    package func set(_ key: UnsafeRawBufferPointer, _ value: [UInt8]?) throws(StoreError) {
        guard let value else {
            try remove(key)
            return
        }
        try value.withBytes { value throws(StoreError) in try put(key, value) }
    }
}

extension [UInt8] {
    /// `withUnsafeBytes` with the error type of the store.
    package func withBytes(_ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void) throws(StoreError) {
        let result = withUnsafeBytes { bytes -> Result<Void, StoreError> in
            Result { () throws(StoreError) in try body(bytes) }
        }
        try result.get()
    }
}

/// What was found when a store was opened.
package enum StoreOpening: Equatable, Sendable {
    /// There was no store.
    case created
    /// It was closed properly.
    case clean
    /// It was not closed, but only its process had ended: it is as that process left it.
    case unclosed
    /// It could not be trusted, for this reason, and has been wiped.
    case wiped(reason: String)
}
