import Digests

/// The last sixteen records of a partition; their fingerprints are made on request.
///
/// ``note(offset:timestamp:key:)`` copies a key of up to 64 bytes and hashes only longer ones, so that an event costs a
/// few nanoseconds and no allocation. One owner.
struct RecentRecords: ~Copyable {
    private enum Key {
        case none
        /// The key's length; its bytes are in the slot's part of ``keys``.
        case bytes(UInt8)
        /// A ``StoredHash`` in that part.
        case hash
    }

    private struct Entry {
        var offset: Int64
        var timestamp: WallTime?
        var key: Key
    }

    /// The value of ``RecentFingerprints/limit`` as a constant of this module: a power of two.
    private static let limit = 16
    private static let keySize = 64

    private let entries: UnsafeMutablePointer<Entry>
    private let keys: UnsafeMutableRawPointer
    private var count = 0
    /// The slot of the next record.
    private var next = 0
    /// The offset of the newest one.
    private var last = Int64.min

    init() {
        entries = .allocate(capacity: Self.limit)
        keys = .allocate(byteCount: Self.limit * Self.keySize, alignment: 16)
    }

    /// The fingerprints that a checkpoint has kept.
    init(_ recent: RecentFingerprints) {
        self.init()
        for record in recent.elements {
            var key = Key.none
            if let hash = record.key { key = store(hash) }
            append(record.offset, record.timestamp, key)
        }
    }

    deinit {
        entries.deallocate()
        keys.deallocate()
    }

    /// Takes the next record of the partition. A record that is read again after an abort replaces its entry and all
    /// later ones.
    mutating func note(offset: Int64, timestamp: WallTime?, key: UnsafeRawBufferPointer?) {
        if offset <= last { takeBack(from: offset) }
        guard let key else { return append(offset, timestamp, .none) }
        guard key.count <= Self.keySize else { return append(offset, timestamp, store(StoredHash(of: key))) }
        if let source = key.baseAddress {
            (keys + next * Self.keySize).copyMemory(from: source, byteCount: key.count)
        }
        append(offset, timestamp, .bytes(UInt8(truncatingIfNeeded: key.count)))
    }

    /// The fingerprints of the records below an offset, oldest first.
    func fingerprints(below end: Int64) -> RecentFingerprints {
        var recent = RecentFingerprints()
        for index in 0..<count {
            let slot = slot(index)
            let entry = entries[slot]
            guard entry.offset < end else { break }
            let bytes = keys + slot * Self.keySize
            let key: StoredHash? =
                switch entry.key {
                case .none: nil
                case .hash: StoredHash(number: bytes.load(as: UInt64.self))
                case .bytes(let size): StoredHash(of: UnsafeRawBufferPointer(start: bytes, count: Int(size)))
                }
            recent.append(RecordFingerprint(offset: entry.offset, timestamp: entry.timestamp, key: key))
        }
        return recent
    }

    private func store(_ hash: StoredHash) -> Key {
        (keys + next * Self.keySize).storeBytes(of: hash.number, as: UInt64.self)
        return .hash
    }

    @inline(__always)
    private mutating func append(_ offset: Int64, _ timestamp: WallTime?, _ key: Key) {
        // The entries own nothing that must be released.
        (entries + next).initialize(to: Entry(offset: offset, timestamp: timestamp, key: key))
        next = (next + 1) & (Self.limit - 1)
        count = min(count + 1, Self.limit)
        last = offset
    }

    private mutating func takeBack(from offset: Int64) {
        while count > 0, entries[slot(count - 1)].offset >= offset {
            next = slot(count - 1)
            count -= 1
        }
    }

    /// The slot of the record with this index, counted from 0 for the oldest.
    private func slot(_ index: Int) -> Int { (next - count + index) & (Self.limit - 1) }
}
