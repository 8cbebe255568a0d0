/// Where the members of a JSON text are, byte for byte: a value that is passed on keeps its bytes.
///
/// It finds the ends of values and does not validate: a text that is no JSON has no members, or wrong ones.
struct JSONScanner {
    let text: UnsafeRawBufferPointer

    /// A member of an object.
    struct Member {
        /// The name between its quotes, with its escapes.
        var name: Range<Int>
        var value: Range<Int>
    }

    /// The value at a path of members, from the whole text; the last one where a name occurs twice.
    func value(at path: [StaticString]) -> Range<Int>? {
        var found = skipSpace(0)..<text.count
        for name in path {
            guard let value = value(of: name, in: members(of: found)) else { return nil }
            found = value
        }
        return found
    }

    /// The value of a member; the last one where a name occurs twice.
    func value(of name: StaticString, in members: [Member]) -> Range<Int>? {
        members.last { isName($0.name, name) }?.value
    }

    /// The members of the object that begins here; none if it is no object, or does not end.
    func members(of object: Range<Int>) -> [Member] {
        var members: [Member] = []
        guard byte(object.lowerBound) == UInt8(ascii: "{") else { return [] }
        var index = skipSpace(object.lowerBound + 1)
        while byte(index) == UInt8(ascii: "\"") {
            guard let nameEnd = endOfString(index) else { return [] }
            let name = index + 1..<nameEnd - 1
            index = skipSpace(nameEnd)
            guard byte(index) == UInt8(ascii: ":") else { return [] }
            let start = skipSpace(index + 1)
            guard let end = endOfValue(start) else { return [] }
            members.append(Member(name: name, value: start..<end))
            index = skipSpace(end)
            guard byte(index) == UInt8(ascii: ",") else { break }
            index = skipSpace(index + 1)
        }
        return byte(index) == UInt8(ascii: "}") ? members : []
    }

    /// Whether a name between its quotes is this one, which has only letters; `\u0074tl` is `ttl`, too.
    private func isName(_ range: Range<Int>, _ name: StaticString) -> Bool {
        var index = range.lowerBound
        for letter in UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount) {
            guard index < range.upperBound else { return false }
            if text[index] == letter {
                index += 1
            } else if text[index] == UInt8(ascii: "\\"), index + 6 <= range.upperBound,
                text[index + 1] == UInt8(ascii: "u"), codeUnit(index + 2) == UInt16(letter)
            {
                index += 6
            } else {
                return false
            }
        }
        return index == range.upperBound
    }

    /// Four hex digits.
    private func codeUnit(_ start: Int) -> UInt16? {
        var unit: UInt16 = 0
        for byte in text[start..<start + 4] {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): unit = unit << 4 | UInt16(byte - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): unit = unit << 4 | UInt16(byte - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): unit = unit << 4 | UInt16(byte - UInt8(ascii: "A") + 10)
            default: return nil
            }
        }
        return unit
    }

    private func byte(_ index: Int) -> UInt8? { index < text.count ? text[index] : nil }

    private func skipSpace(_ start: Int) -> Int {
        var index = start
        while let byte = byte(index), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { index += 1 }
        return index
    }

    /// After the closing quote.
    private func endOfString(_ start: Int) -> Int? {
        guard let base = text.baseAddress else { return nil }
        let count = text.count
        var index = start + 1
        while index < count {
            // Eight bytes at a time, as long as none of them means anything.
            while index + 8 <= count {
                let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                let found = Self.marks(UInt8(ascii: "\""), in: word) | Self.marks(UInt8(ascii: "\\"), in: word)
                guard found == 0 else {
                    index += found.trailingZeroBitCount / 8
                    break
                }
                index += 8
            }
            guard index < count else { return nil }
            switch base.load(fromByteOffset: index, as: UInt8.self) {
            case UInt8(ascii: "\""): return index + 1
            case UInt8(ascii: "\\"): index += 2
            default: index += 1
            }
        }
        return nil
    }

    /// The highest bit of each byte of the word that is this one, and perhaps of some that follow the first such byte.
    private static func marks(_ byte: UInt8, in word: UInt64) -> UInt64 {
        let differences = word ^ (0x0101_0101_0101_0101 &* UInt64(byte))
        return (differences &- 0x0101_0101_0101_0101) & ~differences & 0x8080_8080_8080_8080
    }

    private func endOfValue(_ start: Int) -> Int? {
        var index = start
        var depth = 0
        while let byte = byte(index) {
            switch byte {
            case UInt8(ascii: "\""):
                guard let end = endOfString(index) else { return nil }
                index = end
                if depth == 0 { return index }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                index += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return index > start ? index : nil }
                depth -= 1
                index += 1
                if depth == 0 { return index }
            case UInt8(ascii: ","), 0x20, 0x0A, 0x0D, 0x09:
                if depth == 0 { return index > start ? index : nil }
                index += 1
            default:
                index += 1
            }
        }
        return nil
    }
}
