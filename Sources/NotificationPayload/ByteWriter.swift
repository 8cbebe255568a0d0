/// Appends bytes to memory that is kept from use to use.
///
/// Cheaper than appending to an array, which checks for uniqueness at every append. One owner.
public struct ByteWriter: ~Copyable {
    @usableFromInline var base: UnsafeMutablePointer<UInt8>
    @usableFromInline var capacity: Int
    @usableFromInline var used = 0

    /// - Parameter capacity: what it can hold before it grows for the first time.
    package init(capacity: Int = 1024) {
        self.capacity = max(capacity, 16)
        base = .allocate(capacity: self.capacity)
    }

    deinit {
        base.deallocate()
    }

    @inlinable package var count: Int { used }

    /// What was written. Valid until the next change.
    @inlinable package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: used) }

    /// Forgets what was written and keeps the memory.
    @inlinable
    package mutating func removeAll() {
        used = 0
    }

    /// Forgets what was written after the first `count` bytes.
    @inlinable
    package mutating func truncate(to count: Int) {
        used = min(used, count)
    }

    @inlinable @inline(__always)
    package mutating func append(_ byte: UInt8) {
        reserve(1)
        base[used] = byte
        used += 1
    }

    @inlinable @inline(__always)
    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        UnsafeMutableRawPointer(base + used).copyMemory(from: source, byteCount: bytes.count)
        used += bytes.count
    }

    @inlinable @inline(__always)
    package mutating func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends what `write` writes at the address that it receives: at most `count` bytes. It returns the end of what
    /// it wrote.
    @inlinable @inline(__always)
    package mutating func append(
        upTo count: Int, _ write: (UnsafeMutablePointer<UInt8>) -> UnsafeMutablePointer<UInt8>
    ) {
        reserve(count)
        used = write(base + used) - base
    }

    /// Makes room for this many more bytes.
    @inlinable @inline(__always)
    package mutating func reserve(_ additional: Int) {
        if capacity - used < additional {
            grow(by: additional)
        }
    }

    @usableFromInline
    mutating func grow(by additional: Int) {
        capacity = max(capacity * 2, used + additional)
        let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        grown.update(from: base, count: used)
        base.deallocate()
        base = grown
    }
}
