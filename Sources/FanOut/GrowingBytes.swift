import Glibc

/// Bytes that grow at the end and keep their memory when emptied.
///
/// An address is good until the next append that grows it. Used in place of `[UInt8]` where addresses are handed out.
package struct GrowingBytes: ~Copyable {
    package private(set) var start: UnsafeMutableRawPointer
    package private(set) var count = 0
    private var capacity: Int

    package init(capacity: Int = 256) {
        self.capacity = max(capacity, 16)
        start = .allocate(byteCount: self.capacity, alignment: 16)
    }

    deinit {
        start.deallocate()
    }

    package mutating func removeAll() {
        count = 0
    }

    package mutating func truncate(to length: Int) {
        count = min(count, length)
    }

    /// Makes room for `extra` bytes and returns where they go; ``commit(_:)`` says how many were written.
    package mutating func reserve(_ extra: Int) -> UnsafeMutableRawPointer {
        if capacity - count < extra {
            grow(to: count + extra)
        }
        return start + count
    }

    package mutating func commit(_ written: Int) {
        count += written
    }

    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    package mutating func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    package mutating func append(_ byte: UInt8) {
        reserve(1).storeBytes(of: byte, as: UInt8.self)
        count += 1
    }

    /// Appends a number in decimal digits.
    package mutating func append(decimal number: Int64) {
        let end = reserve(20) + 20
        var cursor = end
        var rest = number.magnitude
        repeat {
            cursor -= 1
            cursor.storeBytes(of: UInt8(truncatingIfNeeded: 48 + rest % 10), as: UInt8.self)
            rest /= 10
        } while rest > 0
        if number < 0 {
            cursor -= 1
            cursor.storeBytes(of: UInt8(ascii: "-"), as: UInt8.self)
        }
        (start + count).copyMemory(from: cursor, byteCount: end - cursor)
        count += end - cursor
    }

    package func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: start + range.lowerBound, count: range.count)
    }

    package var all: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: start, count: count)
    }

    private mutating func grow(to needed: Int) {
        let larger = max(needed, capacity * 2)
        let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
        moved.copyMemory(from: start, byteCount: count)
        start.deallocate()
        start = moved
        capacity = larger
    }
}

/// Whether two runs of bytes are equal.
func sameBytes(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    guard left.count == right.count else { return false }
    guard let first = left.baseAddress, let second = right.baseAddress else { return true }
    return memcmp(first, second, left.count) == 0
}
