/// Reads `{"data":{…}}` as `JSON.parse(…).data` does, with nothing but the standard library, so that a phone needs no
/// more.
///
/// If a name occurs twice, the last one wins. Numbers become their text; null, booleans, objects and arrays count as
/// missing.
struct PayloadParser {
    private static let maxDepth = 64

    private let bytes: [UInt8]
    private var index = 0

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    /// The texts of `data`; nil where this is not JSON, or has no object there.
    mutating func parse() -> [String: String]? {
        var data: [String: String]?
        guard
            object({ parser, name in
                if name == "data" {
                    data = nil
                    parser.skipSpaces()
                    guard parser.peek != UInt8(ascii: "{") else {
                        data = parser.texts()
                        return data != nil
                    }
                }
                return parser.value(depth: 1) != nil
            })
        else { return nil }
        skipSpaces()
        return index == bytes.count ? data : nil
    }

    private enum Value {
        case text(String)
        case other
    }

    /// The texts of one object.
    private mutating func texts() -> [String: String]? {
        var texts: [String: String] = [:]
        let isRead = object { parser, name in
            guard let value = parser.value(depth: 2) else { return false }
            if case .text(let text) = value {
                texts[name] = text
            } else {
                texts[name] = nil
            }
            return true
        }
        return isRead ? texts : nil
    }

    private var peek: UInt8 { index < bytes.count ? bytes[index] : 0 }

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

    private mutating func object(_ member: (inout PayloadParser, String) -> Bool) -> Bool {
        guard skip(UInt8(ascii: "{")) else { return false }
        if skip(UInt8(ascii: "}")) { return true }
        repeat {
            skipSpaces()
            guard let name = string(), skip(UInt8(ascii: ":")), member(&self, name) else { return false }
        } while skip(UInt8(ascii: ","))
        return skip(UInt8(ascii: "}"))
    }

    private mutating func value(depth: Int) -> Value? {
        guard depth <= Self.maxDepth else { return nil }
        skipSpaces()
        switch peek {
        case UInt8(ascii: "\""):
            return string().map(Value.text)
        case UInt8(ascii: "{"):
            return object { parser, _ in parser.value(depth: depth + 1) != nil } ? .other : nil
        case UInt8(ascii: "["):
            index += 1
            if skip(UInt8(ascii: "]")) { return .other }
            repeat {
                guard value(depth: depth + 1) != nil else { return nil }
            } while skip(UInt8(ascii: ","))
            return skip(UInt8(ascii: "]")) ? .other : nil
        case UInt8(ascii: "t"): return word("true")
        case UInt8(ascii: "f"): return word("false")
        case UInt8(ascii: "n"): return word("null")
        default: return number()
        }
    }

    private mutating func word(_ word: StaticString) -> Value? {
        for offset in 0..<word.utf8CodeUnitCount {
            guard peek == word.utf8Start[offset] else { return nil }
            index += 1
        }
        return .other
    }

    private mutating func number() -> Value? {
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
        return .text(String(decoding: bytes[start..<index], as: UTF8.self))
    }

    private mutating func skipDigits() -> Int {
        let start = index
        while peek &- UInt8(ascii: "0") <= 9 {
            index += 1
        }
        return index - start
    }

    private mutating func string() -> String? {
        guard peek == UInt8(ascii: "\"") else { return nil }
        index += 1
        var units: [UInt8] = []
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: units, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let scalar = escape() else { return nil }
                units += UTF8.encode(scalar).map(Array.init) ?? []
            case 0..<0x20: return nil
            default: units.append(byte)
            }
        }
        return nil
    }

    /// What follows a backslash; half a surrogate pair is the replacement character.
    private mutating func escape() -> Unicode.Scalar? {
        let byte = peek
        index += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            guard let high = hex() else { return nil }
            let start = index
            if UTF16.isLeadSurrogate(high), peek == UInt8(ascii: "\\") {
                index += 1
                if peek == UInt8(ascii: "u") {
                    index += 1
                    if let low = hex(), UTF16.isTrailSurrogate(low) {
                        return UTF16.decode(UTF16.EncodedScalar([high, low]))
                    }
                }
                index = start
            }
            return Unicode.Scalar(high) ?? "\u{FFFD}"
        default: return nil
        }
    }

    private mutating func hex() -> UInt16? {
        var number: UInt16 = 0
        for _ in 0..<4 {
            switch peek {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt16(peek - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt16(peek - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): number = number << 4 | UInt16(peek - UInt8(ascii: "A") + 10)
            default: return nil
            }
            index += 1
        }
        return number
    }
}
