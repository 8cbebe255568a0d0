import Glibc

/// The changes of several sorted runs in the order of their keys; of each key the one of the last run.
package struct RunMerge: ~Copyable {
    /// Where a run is: the key's first bytes as a number decide nearly every comparison.
    private struct Head {
        var order: UInt64
        var run: Int
    }

    private let runs: [RunReader]
    /// The runs that have not ended, as a heap: the first one has the next change.
    private var heads: [Head] = []
    private var lastKey: [UInt8] = []
    /// Whether the first run's change has been returned.
    private var isTaken = false

    init(of runs: [RunReader]) throws(StoreError) {
        self.runs = runs
        for (index, run) in runs.enumerated() where try run.advance() {
            heads.append(Head(order: run.order, run: index))
        }
        for index in heads.indices.reversed() { sink(index) }
    }

    /// The next change; nil after the last. Valid until the next call.
    package mutating func next() throws(StoreError) -> (key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?)? {
        if isTaken { try advance() }
        while let head = heads.first {
            let run = runs[head.run]
            guard isTaken, isLast(run.key) else {
                isTaken = true
                lastKey.removeAll(keepingCapacity: true)
                lastKey.append(contentsOf: run.key)
                return (run.key, run.value)
            }
            try advance()
        }
        return nil
    }

    private func isLast(_ key: UnsafeRawBufferPointer) -> Bool {
        guard lastKey.count == key.count, let start = key.baseAddress else { return false }
        return lastKey.withUnsafeBytes { last in last.baseAddress.map { memcmp($0, start, key.count) == 0 } ?? true }
    }

    /// Moves the first run to its next change.
    private mutating func advance() throws(StoreError) {
        guard let run = heads.first?.run else { return }
        if try runs[run].advance() {
            heads[0].order = runs[run].order
        } else {
            heads[0] = heads[heads.count - 1]
            heads.removeLast()
        }
        sink(0)
    }

    /// Restores the heap below an index.
    private mutating func sink(_ start: Int) {
        var index = start
        while true {
            let left = 2 * index + 1
            guard left < heads.count else { return }
            let right = left + 1
            let child = right < heads.count && isBefore(heads[right], heads[left]) ? right : left
            guard isBefore(heads[child], heads[index]) else { return }
            heads.swapAt(child, index)
            index = child
        }
    }

    /// By key; for equal keys the last run first.
    private func isBefore(_ left: Head, _ right: Head) -> Bool {
        if left.order != right.order { return left.order < right.order }
        let (first, second) = (runs[left.run].key, runs[right.run].key)
        let shared = min(first.count, second.count)
        if let one = first.baseAddress, let other = second.baseAddress,
            case let difference = memcmp(one, other, shared),
            difference != 0
        {
            return difference < 0
        }
        return first.count == second.count ? left.run > right.run : first.count < second.count
    }
}

/// Reads one run from its beginning.
final class RunReader {
    private static let bufferCount = 64 << 10

    private let file: RunFile
    /// What of the file is not in the buffer yet.
    private var rest: Range<Int>
    private var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferCount, alignment: 16)
    /// What of the buffer has not been returned.
    private var unread = 0..<0
    private(set) var key = UnsafeRawBufferPointer(start: nil, count: 0)
    /// Nil removes the key.
    private(set) var value: UnsafeRawBufferPointer?
    /// The key's first eight bytes as a big-endian number, with zeros for those that it does not have.
    private(set) var order: UInt64 = 0

    init(_ file: RunFile, from start: Int, to end: Int) {
        self.file = file
        rest = start..<end
    }

    deinit {
        buffer.deallocate()
    }

    /// Moves to the next change; the one before becomes invalid.
    ///
    /// - Returns: false at the end.
    func advance() throws(StoreError) -> Bool {
        guard !unread.isEmpty || !rest.isEmpty else { return false }
        try need(RunWriter.headCount)
        let keyCount = Int(buffer.loadUnaligned(fromByteOffset: unread.lowerBound, as: UInt16.self))
        let valueCount = Int(buffer.loadUnaligned(fromByteOffset: unread.lowerBound + 2, as: Int32.self))
        let count = RunWriter.headCount + keyCount + max(valueCount, 0)
        try need(count)
        let start = unread.lowerBound + RunWriter.headCount
        key = UnsafeRawBufferPointer(rebasing: buffer[start..<start + keyCount])
        value =
            valueCount < 0
            ? nil : UnsafeRawBufferPointer(rebasing: buffer[start + keyCount..<start + keyCount + valueCount])
        unread = unread.lowerBound + count..<unread.upperBound
        order =
            keyCount >= 8
            ? UInt64(bigEndian: key.loadUnaligned(as: UInt64.self))
            : key.reduce(0) { $0 << 8 | UInt64($1) } << UInt64(64 - 8 * keyCount)
        return true
    }

    /// Makes sure that so many bytes are in the buffer, as far as the file has them.
    private func need(_ count: Int) throws(StoreError) {
        guard unread.count < count else { return }
        var target = buffer
        if buffer.count < count {
            target = .allocate(byteCount: count, alignment: 16)
        }
        if let from = buffer.baseAddress, let to = target.baseAddress {
            memmove(to, from + unread.lowerBound, unread.count)
        }
        if target.baseAddress != buffer.baseAddress {
            buffer.deallocate()
            buffer = target
        }
        unread = 0..<unread.count
        let more = min(rest.count, buffer.count - unread.count)
        try file.read(
            into: UnsafeMutableRawBufferPointer(rebasing: buffer[unread.count..<unread.count + more]),
            at: rest.lowerBound)
        rest = rest.lowerBound + more..<rest.upperBound
        unread = 0..<unread.count + more
    }
}
