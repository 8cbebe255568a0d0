/// A run of UTF-8 bytes in the text of an ``EventBatch``.
public struct TextRange: Hashable, Sendable {
    @usableFromInline var start: UInt32
    @usableFromInline var length: UInt32

    @inlinable
    package init(start: Int, count: Int) {
        self.start = UInt32(start)
        self.length = UInt32(count)
    }

    /// The number of bytes.
    @inlinable public var count: Int { Int(length) }
    @inlinable public var isEmpty: Bool { length == 0 }
    @inlinable package var range: Range<Int> { Int(start)..<Int(start) + Int(length) }
    package static let empty = TextRange(start: 0, count: 0)
}
