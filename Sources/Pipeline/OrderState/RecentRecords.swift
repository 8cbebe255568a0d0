import Extraction

/// The last sixteen records of a partition, of which fingerprints are made when they are wanted.
///
/// ``note(offset:timestamp:key:)`` copies a key of up to 64 bytes and hashes only longer ones, so that an event costs some
/// nanoseconds and no allocation. One owner.
struct RecentRecords: ~Copyable {
    private enum Key {
        case none
        /// So many bytes in the slot's part of ``keys``.
        case bytes(Int)
        case hash(StoredHash)
    }

    private struct Entry {
        var offset: Int64
        var timestamp: Int64?
        var key: Key
    }

    private static let limit = RecentFingerprints.limit
    private static let keySize = 64

    private let entries: UnsafeMutablePointer<Entry>
    private let keys: UnsafeMutableRawPointer
    private var count = 0
    /// The slot of the next record.
    private var next = 0

    init() {
        entries = .allocate(capacity: Self.limit)
        keys = .allocate(byteCount: Self.limit * Self.keySize, alignment: 16)
    }

    /// Those that a checkpoint has kept.
    init(_ recent: RecentFingerprints) {
        self.init()
        for record in recent.elements {
            append(
                Entry(offset: record.offset, timestamp: record.timestamp, key: record.key.map { .hash($0) } ?? .none))
        }
    }

    deinit {
        entries.deallocate()
        keys.deallocate()
    }

    /// Takes the next record of the partition. One that comes again, after an abort, takes its own place and that of all
    /// behind it.
    mutating func note(offset: Int64, timestamp: Int64?, key: UnsafeRawBufferPointer?) {
        while count > 0, entries[slot(count - 1)].offset >= offset {
            next = slot(count - 1)
            count -= 1
        }
        guard let key else { return append(Entry(offset: offset, timestamp: timestamp, key: .none)) }
        guard key.count <= Self.keySize else {
            return append(Entry(offset: offset, timestamp: timestamp, key: .hash(StoredHash(of: key))))
        }
        UnsafeMutableRawBufferPointer(start: keys + next * Self.keySize, count: key.count).copyMemory(from: key)
        append(Entry(offset: offset, timestamp: timestamp, key: .bytes(key.count)))
    }

    /// The fingerprints of the records below an offset, the oldest first.
    func fingerprints(below end: Int64) -> RecentFingerprints {
        var recent = RecentFingerprints()
        for index in 0..<count {
            let slot = slot(index)
            let entry = entries[slot]
            guard entry.offset < end else { break }
            let key: StoredHash? =
                switch entry.key {
                case .none: nil
                case .hash(let hash): hash
                case .bytes(let size):
                    StoredHash(of: UnsafeRawBufferPointer(start: keys + slot * Self.keySize, count: size))
                }
            recent.append(RecordFingerprint(offset: entry.offset, timestamp: entry.timestamp, key: key))
        }
        return recent
    }

    private mutating func append(_ entry: Entry) {
        // Entries have nothing to be released.
        (entries + next).initialize(to: entry)
        next = (next + 1) % Self.limit
        count = min(count + 1, Self.limit)
    }

    /// Where the record with this index is, of 0 for the oldest.
    private func slot(_ index: Int) -> Int { (next - count + index + 2 * Self.limit) % Self.limit }
}
