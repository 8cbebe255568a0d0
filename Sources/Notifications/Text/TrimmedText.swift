extension UnsafeRawBufferPointer {
    /// The bytes without the white space around them that JavaScript's `trim` removes.
    package var trimmed: UnsafeRawBufferPointer {
        guard let first, let last else { return self }
        if first > 0x20, first < 0x80, last > 0x20, last < 0x80 { return self }
        var start = 0
        var end = count
        while start < end, let width = whiteSpaceWidth(at: start, before: end) {
            start += width
        }
        while start < end, let width = whiteSpaceWidth(endingAt: end, after: start) {
            end -= width
        }
        return UnsafeRawBufferPointer(rebasing: self[start..<end])
    }

    /// The length of the white space that ends here; nil if there is none.
    private func whiteSpaceWidth(endingAt end: Int, after start: Int) -> Int? {
        for width in 1...3 where end - width >= start && whiteSpaceWidth(at: end - width, before: end) == width {
            return width
        }
        return nil
    }

    /// The length of the white space that begins here; nil if there is none.
    private func whiteSpaceWidth(at index: Int, before end: Int) -> Int? {
        switch self[index] {
        case 0x09...0x0D, 0x20:
            return 1
        case 0xC2 where index + 1 < end:
            return self[index + 1] == 0xA0 ? 2 : nil
        case 0xE1...0xEF where index + 2 < end:
            let scalar =
                UInt32(self[index] & 0xF) << 12 | UInt32(self[index + 1] & 0x3F) << 6 | UInt32(self[index + 2] & 0x3F)
            switch scalar {
            case 0x1680, 0x2000...0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF: return 3
            default: return nil
            }
        default:
            return nil
        }
    }

    /// Whether the text equals ASCII text in lower case, ignoring its own case.
    package func equalsIgnoringCase(_ lowercase: StaticString) -> Bool {
        count == lowercase.utf8CodeUnitCount && hasPrefixIgnoringCase(lowercase)
    }

    /// Whether the text begins with ASCII text in lower case, ignoring its own case.
    package func hasPrefixIgnoringCase(_ lowercase: StaticString) -> Bool {
        guard count >= lowercase.utf8CodeUnitCount else { return false }
        for index in 0..<lowercase.utf8CodeUnitCount {
            let byte = self[index]
            let lower = byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
            if lower != lowercase.utf8Start[index] {
                return false
            }
        }
        return true
    }
}
