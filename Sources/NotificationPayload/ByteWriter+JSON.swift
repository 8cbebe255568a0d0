extension ByteWriter {
    /// Appends UTF-8 bytes as the contents of a JSON string, as `JSON.stringify` writes it: `"`, `\` and control
    /// characters escaped in lower case, `/` and everything beyond ASCII as it is (docs/rules.md §5.1).
    ///
    /// Copies eight bytes at a time up to the next byte that needs an escape.
    @inlinable
    package mutating func appendEscaped(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        var index = 0
        // Room to store a whole word at every remaining byte; an escape reserves its own.
        reserve(bytes.count + 8)
        while index + 8 <= bytes.count {
            let word = UInt64(littleEndian: (start + index).loadUnaligned(as: UInt64.self))
            UnsafeMutableRawPointer(base + used).storeBytes(of: word.littleEndian, as: UInt64.self)
            let marks = JSONEscape.marks(word)
            guard marks != 0 else {
                index += 8
                used += 8
                continue
            }
            let clean = marks.trailingZeroBitCount / 8
            used += clean
            index += clean
            escape(start.load(fromByteOffset: index, as: UInt8.self), rest: bytes.count - index)
            index += 1
        }
        if index > 0, index < bytes.count {
            // Loads the last eight bytes once more: the remaining ones among them rarely need an escape.
            let last = bytes.count - 8
            let word = UInt64(littleEndian: (start + last).loadUnaligned(as: UInt64.self))
            if JSONEscape.marks(word) == 0 {
                let rest = bytes.count - index
                UnsafeMutableRawPointer(base + used).storeBytes(
                    of: (word >> UInt64(64 - 8 * rest)).littleEndian, as: UInt64.self)
                used += rest
                return
            }
        }
        while index < bytes.count {
            let byte = start.load(fromByteOffset: index, as: UInt8.self)
            if JSONEscape.isNeeded(byte) {
                escape(byte, rest: bytes.count - index)
            } else {
                base[used] = byte
                used += 1
            }
            index += 1
        }
    }

    @inlinable
    mutating func escape(_ byte: UInt8, rest: Int) {
        reserve(rest + 16)
        base[used] = UInt8(ascii: "\\")
        used += 1
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
            base[used] = byte
            used += 1
        } else {
            escapeControl(byte)
        }
    }

    @usableFromInline
    mutating func escapeControl(_ byte: UInt8) {
        append(upTo: 5) { $0 + JSONEscape.writeControl(byte, to: $0) }
    }
}

/// Which bytes of a JSON string need an escape.
@usableFromInline
package enum JSONEscape {
    @inlinable
    package static func isNeeded(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    /// Writes what follows the backslash of a control character, at most five bytes, and returns its length.
    static func writeControl(_ byte: UInt8, to buffer: UnsafeMutablePointer<UInt8>) -> Int {
        switch byte {
        case 0x08: buffer[0] = UInt8(ascii: "b")
        case 0x09: buffer[0] = UInt8(ascii: "t")
        case 0x0A: buffer[0] = UInt8(ascii: "n")
        case 0x0C: buffer[0] = UInt8(ascii: "f")
        case 0x0D: buffer[0] = UInt8(ascii: "r")
        default:
            let low = byte & 0xF
            buffer[0] = UInt8(ascii: "u")
            buffer[1] = UInt8(ascii: "0")
            buffer[2] = UInt8(ascii: "0")
            buffer[3] = UInt8(ascii: "0") + byte >> 4
            buffer[4] = low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") + low - 10
            return 5
        }
        return 1
    }

    /// The high bit of every byte that needs an escape. Only the lowest mark is exact: a borrow may set false ones
    /// above.
    @inlinable
    static func marks(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quote = word ^ (ones &* 0x22)
        let backslash = word ^ (ones &* 0x5C)
        let control = (word &- ones &* 0x20) & ~word
        return (control | (quote &- ones) & ~quote | (backslash &- ones) & ~backslash) & (ones &* 0x80)
    }
}
