import Synchronization

/// A store in memory, lost when the process ends: for tests, and for work that ends with its input.
package final class MemoryStore: OrderedStore {
    private struct Content {
        var entries = SortedEntries()
        var checkpoint: StoredBytes?
        var readers = 0
        var isClosed = false
    }

    /// What readers take snapshots of; the writer replaces it when its transaction ends.
    private let content = Mutex(Content())
    /// Held during a write.
    private let turn = Mutex(())

    package init() {}

    package func makeReader() throws(StoreError) -> any StoreReader {
        let isOpen = content.withLock { content in
            content.readers += content.isClosed ? 0 : 1
            return !content.isClosed
        }
        guard isOpen else { throw .closed }
        return MemoryReader(store: self)
    }

    package func write(_ body: (any StoreWriter) throws(StoreError) -> Void) throws(StoreError) {
        try turn.withLock { _ throws(StoreError) in
            let (draft, isClosed) = content.withLock { content in
                (MemoryWriter(entries: content.entries, checkpoint: content.checkpoint), content.isClosed)
            }
            guard !isClosed else { throw .closed }
            try body(draft)
            content.withLock { content in
                content.entries = draft.entries
                content.checkpoint = draft.checkpoint
            }
        }
    }

    package func close() throws(StoreError) {
        let readers = content.withLock { content in
            content.isClosed = content.readers == 0
            return content.readers
        }
        guard readers == 0 else { throw StoreError(.inUse, "\(readers) readers of the store are in use") }
    }

    fileprivate func snapshot() -> (SortedEntries, StoredBytes?) {
        content.withLock { ($0.entries, $0.checkpoint) }
    }

    fileprivate func releaseReader() {
        content.withLock { $0.readers -= 1 }
    }
}

private final class MemoryReader: StoreReader {
    private let store: MemoryStore
    private var entries = SortedEntries()
    private var stored: StoredBytes?

    init(store: MemoryStore) {
        self.store = store
    }

    deinit {
        store.releaseReader()
    }

    func begin() {
        (entries, stored) = store.snapshot()
    }

    func end() {
        entries = SortedEntries()
        stored = nil
    }

    func count() -> Int { entries.count }

    func checkpoint() -> UnsafeRawBufferPointer? { stored?.value }

    func value(for key: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        entries.value(for: key)?.value
    }

    func append(
        startingWith prefix: UnsafeRawBufferPointer, from first: UnsafeRawBufferPointer?, limit: Int,
        to found: inout [StoreEntry]
    ) {
        var position = entries.lowerBound(of: first ?? prefix)
        var left = limit
        while left > 0, let entry = entries.entry(at: &position)?.entry, entry.key.starts(with: prefix) {
            found.append(entry)
            position.index += 1
            left -= 1
        }
    }
}

private final class MemoryWriter: StoreWriter {
    private(set) var entries: SortedEntries
    private(set) var checkpoint: StoredBytes?

    init(entries: SortedEntries, checkpoint: StoredBytes?) {
        self.entries = entries
        self.checkpoint = checkpoint
    }

    func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError) {
        guard 1...511 ~= key.count else {
            throw StoreError(.invalidKey, "a key of the store is empty or longer than 511 bytes")
        }
        entries.put(StoredBytes(key, value))
    }

    func append(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError) {
        var after = entries.lowerBound(of: key)
        guard entries.entry(at: &after) == nil else {
            throw StoreError(.system, "a key was appended to the store that is not after all others")
        }
        try put(key, value)
    }

    func remove(_ key: UnsafeRawBufferPointer) -> Bool {
        entries.remove(key)
    }

    func value(for key: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        entries.value(for: key)?.value
    }

    func removeAll() {
        entries = SortedEntries()
        checkpoint = nil
    }

    func setCheckpoint(_ bytes: UnsafeRawBufferPointer) {
        checkpoint = StoredBytes(UnsafeRawBufferPointer(start: nil, count: 0), bytes)
    }
}
