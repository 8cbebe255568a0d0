/// Reads JSON as `JSON.parse` does, with nothing but the standard library, so that a phone needs no more.
///
/// If a name occurs twice, the last one wins.
struct JSONParser {
    let bytes: [UInt8]
    var index = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The value; nil where this is not JSON, or is nested too deep.
    mutating func parse() -> PushValue? {
        guard let value = value(depth: 0) else { return nil }
        skipSpaces()
        return index == bytes.count ? value : nil
    }

    /// The next byte; 0 at the end.
    var peek: UInt8 { index < bytes.count ? bytes[index] : 0 }

    private mutating func skipSpaces() {
        while index < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[index]) {
            index += 1
        }
    }

    private mutating func skip(_ byte: UInt8) -> Bool {
        skipSpaces()
        guard peek == byte, index < bytes.count else { return false }
        index += 1
        return true
    }

    /// - Parameter depth: the number of arrays and objects around the value.
    private mutating func value(depth: Int) -> PushValue? {
        skipSpaces()
        switch peek {
        case UInt8(ascii: "\""): return string().map(PushValue.string)
        case UInt8(ascii: "{"): return depth < PushValue.maxDepth ? object(depth: depth + 1) : nil
        case UInt8(ascii: "["): return depth < PushValue.maxDepth ? array(depth: depth + 1) : nil
        case UInt8(ascii: "t"): return word("true", .bool(true))
        case UInt8(ascii: "f"): return word("false", .bool(false))
        case UInt8(ascii: "n"): return word("null", .null)
        default: return number()
        }
    }

    private mutating func object(depth: Int) -> PushValue? {
        index += 1
        var members: [String: PushValue] = [:]
        if skip(UInt8(ascii: "}")) { return .object(members) }
        repeat {
            skipSpaces()
            guard let name = string(), skip(UInt8(ascii: ":")), let value = value(depth: depth) else { return nil }
            members[name] = value
        } while skip(UInt8(ascii: ","))
        return skip(UInt8(ascii: "}")) ? .object(members) : nil
    }

    private mutating func array(depth: Int) -> PushValue? {
        index += 1
        var elements: [PushValue] = []
        if skip(UInt8(ascii: "]")) { return .array(elements) }
        repeat {
            guard let value = value(depth: depth) else { return nil }
            elements.append(value)
        } while skip(UInt8(ascii: ","))
        return skip(UInt8(ascii: "]")) ? .array(elements) : nil
    }

    private mutating func word(_ word: StaticString, _ value: PushValue) -> PushValue? {
        for offset in 0..<word.utf8CodeUnitCount {
            guard peek == word.utf8Start[offset] else { return nil }
            index += 1
        }
        return value
    }

    private mutating func number() -> PushValue? {
        let start = index
        if peek == UInt8(ascii: "-") {
            index += 1
        }
        let firstDigit = peek
        let digits = skipDigits()
        guard digits > 0, firstDigit != UInt8(ascii: "0") || digits == 1 else { return nil }
        if peek == UInt8(ascii: ".") {
            index += 1
            guard skipDigits() > 0 else { return nil }
        }
        if peek | 0x20 == UInt8(ascii: "e") {
            index += 1
            if peek == UInt8(ascii: "+") || peek == UInt8(ascii: "-") {
                index += 1
            }
            guard skipDigits() > 0 else { return nil }
        }
        return .number(String(decoding: bytes[start..<index], as: UTF8.self))
    }

    private mutating func skipDigits() -> Int {
        let start = index
        while peek &- UInt8(ascii: "0") <= 9 {
            index += 1
        }
        return index - start
    }
}
