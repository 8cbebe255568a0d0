import Glibc

/// The unescaped UTF-8 bytes of a string of a document, valid as long as the document.
public struct JSONText {
    @usableFromInline package let bytes: UnsafeRawBufferPointer

    @inlinable
    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    @inlinable package var count: Int { bytes.count }

    @inlinable @inline(__always)
    package static func == (text: JSONText, other: StaticString) -> Bool {
        guard text.bytes.count == other.utf8CodeUnitCount, let start = text.bytes.baseAddress else { return false }
        return memcmp(start, other.utf8Start, other.utf8CodeUnitCount) == 0
    }
}
