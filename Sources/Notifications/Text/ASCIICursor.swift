/// Reads ASCII text from left to right. A step that does not match leaves the position unchanged.
///
/// Only the ten ASCII digits are digits: a regular expression's `\d` and `Int("…")` also accept Arabic-Indic digits and
/// signs (docs/rules.md §0, finding 9).
package struct ASCIICursor {
    let bytes: UnsafeRawBufferPointer
    package var index = 0

    @inlinable
    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    @inlinable
    package var isAtEnd: Bool { index == bytes.count }

    /// The byte at this position; 0 at the end, which matches nothing.
    @inlinable
    package var peek: UInt8 { index < bytes.count ? bytes[index] : 0 }

    @inlinable
    package mutating func skip(_ byte: UInt8) -> Bool {
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
    }

    /// Skips a letter, ignoring case.
    @inlinable
    package mutating func skip(letter: UInt8) -> Bool {
        guard index < bytes.count, bytes[index] | 0x20 == letter else { return false }
        index += 1
        return true
    }

    mutating func skipSpaces() {
        while index < bytes.count, bytes[index] == UInt8(ascii: " ") {
            index += 1
        }
    }

    /// The number with exactly this many digits.
    @inlinable @inline(__always)
    package mutating func digits(_ count: Int) -> Int? {
        guard index + count <= bytes.count else { return nil }
        var number = 0
        for offset in index..<index + count {
            let digit = bytes[offset] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            number = number * 10 + Int(digit)
        }
        index += count
        return number
    }

    /// The number of one or two digits, as many as there are.
    @inlinable
    package mutating func oneOrTwoDigits() -> Int? {
        digits(2) ?? digits(1)
    }

    /// Skips at least one digit.
    @inlinable
    package mutating func skipDigits() -> Bool {
        let start = index
        while index < bytes.count, bytes[index] &- UInt8(ascii: "0") <= 9 {
            index += 1
        }
        return index > start
    }
}
