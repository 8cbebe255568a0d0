import Glibc

/// The unescaped UTF-8 bytes of a string of a document, valid as long as the document.
public struct JSONText {
    @usableFromInline package let bytes: UnsafeRawBufferPointer

    @inlinable
    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    @inlinable package var count: Int { bytes.count }

    /// The first eight bytes, the first one lowest; a shorter text is followed by zeros.
    ///
    /// Only for texts of a document: eight bytes can be read from the start of each, because their buffer is larger
    /// than its contents (simdjson's padding).
    @inlinable @inline(__always)
    package var head: UInt64 {
        guard let start = bytes.baseAddress, count > 0 else { return 0 }
        let word = UInt64(littleEndian: start.loadUnaligned(as: UInt64.self))
        return count >= 8 ? word : word & (1 << UInt64(8 * count) &- 1)
    }

    /// Whether the bytes from the ninth on equal those of `other`. Both must have the same length, more than eight
    /// bytes.
    @inlinable @inline(__always)
    package func hasTail(of other: UnsafeRawBufferPointer) -> Bool {
        guard let start = bytes.baseAddress, let tail = other.baseAddress else { return false }
        if count <= 16 {
            // The last eight bytes; some were in the head already.
            return start.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
                == tail.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
        }
        return memcmp(start + 8, tail + 8, count - 8) == 0
    }

    @inlinable @inline(__always)
    package static func == (text: JSONText, other: UnsafeRawBufferPointer) -> Bool {
        guard text.bytes.count == other.count else { return false }
        guard let start = text.bytes.baseAddress, let otherStart = other.baseAddress else { return other.isEmpty }
        return memcmp(start, otherStart, other.count) == 0
    }

    @inlinable @inline(__always)
    package static func == (text: JSONText, other: StaticString) -> Bool {
        guard text.bytes.count == other.utf8CodeUnitCount, let start = text.bytes.baseAddress else { return false }
        return memcmp(start, other.utf8Start, other.utf8CodeUnitCount) == 0
    }
}

extension String {
    /// A copy of a text.
    package init(_ text: JSONText) {
        self = String(decoding: text.bytes, as: UTF8.self)
    }
}
