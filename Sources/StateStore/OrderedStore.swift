/// An ordered key-value store whose transactions carry data and a checkpoint together (design §7).
///
/// Keys are 1 to 511 bytes and ordered as unsigned bytes, a shorter key before its continuations. It holds what can be
/// computed again from a log, so it is always safe to delete. One writer at a time, any number of readers; a reader
/// sees one snapshot and neither waits for the writer nor makes it wait.
package protocol OrderedStore: AnyObject, Sendable {
    /// A reader for one thread at a time. The store cannot be closed before its readers are gone.
    func makeReader() throws(StoreError) -> any StoreReader

    /// Runs `body` as one transaction on the calling thread: all of it is stored, or, where it throws, nothing.
    ///
    /// Returns when the data is on the disk. Calls from other threads wait; a call from within `body` never returns.
    func write(_ body: (any StoreWriter) throws(StoreError) -> Void) throws(StoreError)

    /// Marks the store as sound and gives its files up. Throws while a reader lives.
    func close() throws(StoreError)
}

/// A key with its value. The bytes are the store's: good until the reader's snapshot ends.
package struct StoreEntry {
    package let key: UnsafeRawBufferPointer
    package let value: UnsafeRawBufferPointer

    package init(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        self.key = key
        self.value = value
    }
}

/// Reads one snapshot after the other. Every value is checked against its checksum when it is read.
///
/// Between ``end()`` and ``begin()`` there is no snapshot, and reading finds nothing.
package protocol StoreReader: AnyObject {
    /// Takes a snapshot of what was last written, in place of the one before. 0.3 µs on disk.
    func begin() throws(StoreError)
    /// Gives the snapshot up. A long one keeps the writer from reusing pages, and the file grows.
    func end()
    /// The number of entries.
    func count() throws(StoreError) -> Int
    /// What ``StoreWriter/setCheckpoint(_:)`` stored.
    func checkpoint() throws(StoreError) -> UnsafeRawBufferPointer?
    func value(for key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer?
    /// Appends the entries whose keys start with `prefix` in the order of their keys, `limit` of them at most; the empty
    /// prefix is that of every key. One call for all of them, so that nothing goes through the protocol once an entry.
    ///
    /// - Parameter first: the keys before it are passed over; it starts with `prefix`. Nil: none are.
    func append(
        startingWith prefix: UnsafeRawBufferPointer, from first: UnsafeRawBufferPointer?, limit: Int,
        to entries: inout [StoreEntry]
    ) throws(StoreError)
}

extension StoreReader {
    /// The same from the first key on.
    package func append(
        startingWith prefix: UnsafeRawBufferPointer, limit: Int, to entries: inout [StoreEntry]
    ) throws(StoreError) {
        try append(startingWith: prefix, from: nil, limit: limit, to: &entries)
    }
}

/// Writes within one transaction, and is of no use after it.
package protocol StoreWriter: AnyObject {
    /// Adds or replaces.
    func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError)
    /// Returns whether the key was there.
    @discardableResult
    func remove(_ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool
    /// The value as this transaction sees it; good until its next change.
    func value(for key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer?
    /// Removes every entry and the checkpoint.
    func removeAll() throws(StoreError)
    func setCheckpoint(_ bytes: UnsafeRawBufferPointer) throws(StoreError)
}

/// How a store came up.
package enum StoreOpening: Equatable, Sendable {
    /// There was nothing.
    case created
    /// It was closed properly.
    case clean
    /// It was not closed, and a scan found every entry sound.
    case checked
    /// What was there could not be trusted, for this reason, and is gone.
    case wiped(reason: String)
}
