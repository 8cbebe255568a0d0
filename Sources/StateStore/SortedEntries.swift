import Glibc

/// A key and a value on the heap, at an address that never moves.
///
/// `@unchecked Sendable`: nothing changes after `init`.
final class StoredBytes: @unchecked Sendable {
    private let start: UnsafeMutableRawPointer
    private let keyCount: Int
    private let valueCount: Int

    init(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        start = .allocate(byteCount: max(key.count + value.count, 1), alignment: 8)
        keyCount = key.count
        valueCount = value.count
        if let source = key.baseAddress {
            start.copyMemory(from: source, byteCount: key.count)
        }
        if let source = value.baseAddress {
            (start + key.count).copyMemory(from: source, byteCount: value.count)
        }
    }

    deinit {
        start.deallocate()
    }

    var key: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: keyCount) }
    var value: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start + keyCount, count: valueCount) }
    var entry: StoreEntry { StoreEntry(key: key, value: value) }
}

/// Entries in the order of their keys, as a value: a copy is a snapshot and shares every unchanged chunk.
struct SortedEntries: Sendable {
    /// Where an entry is, or would be.
    struct Position {
        var chunk: Int
        var index: Int
    }

    private static let chunkLimit = 256
    /// Never an empty chunk.
    private var chunks: [[StoredBytes]] = []
    private(set) var count = 0

    /// The entry at a position, which moves to the next chunk's start where it is at the end of one.
    func entry(at position: inout Position) -> StoredBytes? {
        while position.chunk < chunks.count {
            if position.index < chunks[position.chunk].count {
                return chunks[position.chunk][position.index]
            }
            position = Position(chunk: position.chunk + 1, index: 0)
        }
        return nil
    }

    func value(for key: UnsafeRawBufferPointer) -> StoredBytes? {
        var position = lowerBound(of: key)
        guard let found = entry(at: &position), Self.order(found.key, key) == 0 else { return nil }
        return found
    }

    /// The position of the first entry whose key is not less than `key`.
    func lowerBound(of key: UnsafeRawBufferPointer) -> Position {
        // The last chunk whose first key is not greater than the key.
        let chunk = max(partition(chunks.count) { Self.order(chunks[$0][0].key, key) <= 0 } - 1, 0)
        guard chunk < chunks.count else { return Position(chunk: 0, index: 0) }
        let index = partition(chunks[chunk].count) { Self.order(chunks[chunk][$0].key, key) < 0 }
        return Position(chunk: chunk, index: index)
    }

    mutating func put(_ entry: StoredBytes) {
        guard !chunks.isEmpty else {
            chunks = [[entry]]
            count = 1
            return
        }
        let position = lowerBound(of: entry.key)
        if position.index < chunks[position.chunk].count,
            Self.order(chunks[position.chunk][position.index].key, entry.key) == 0
        {
            chunks[position.chunk][position.index] = entry
            return
        }
        chunks[position.chunk].insert(entry, at: position.index)
        count += 1
        if chunks[position.chunk].count > Self.chunkLimit {
            let half = chunks[position.chunk].count / 2
            let upper = Array(chunks[position.chunk][half...])
            chunks[position.chunk].removeSubrange(half...)
            chunks.insert(upper, at: position.chunk + 1)
        }
    }

    mutating func remove(_ key: UnsafeRawBufferPointer) -> Bool {
        let position = lowerBound(of: key)
        guard position.chunk < chunks.count, position.index < chunks[position.chunk].count,
            Self.order(chunks[position.chunk][position.index].key, key) == 0
        else { return false }
        chunks[position.chunk].remove(at: position.index)
        if chunks[position.chunk].isEmpty {
            chunks.remove(at: position.chunk)
        }
        count -= 1
        return true
    }

    /// The first index for which `isBefore` is false.
    private func partition(_ count: Int, _ isBefore: (Int) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if isBefore(middle) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    private static func order(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        guard let first = left.baseAddress, let second = right.baseAddress else { return left.count - right.count }
        let shared = Int(memcmp(first, second, min(left.count, right.count)))
        return shared == 0 ? left.count - right.count : shared
    }
}
