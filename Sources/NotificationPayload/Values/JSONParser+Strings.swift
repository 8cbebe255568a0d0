extension JSONParser {
    /// The contents of a string; nil where it has an escape that JSON does not have, or a control character.
    mutating func string() -> String? {
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
