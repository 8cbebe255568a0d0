/// Base64 with `-` and `_` and without padding (RFC 4648 §5): for tokens, and for bits in the metadata of an offset.
package enum Base64URL {
    private static let digits = [UInt8]("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// Four digits for three bytes; two for a last one, three for a last two.
    package static func encode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        var pending: UInt32 = 0
        var bits: UInt32 = 0
        for byte in bytes {
            pending = pending << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(digits[Int(pending >> bits & 0x3F)])
            }
        }
        if bits > 0 { text.append(digits[Int(pending << (6 - bits) & 0x3F)]) }
        return text
    }

    /// The decoded bytes; nil if the text has another character, a length that no bytes have, or bits that are left over
    /// and not 0 (RFC 4648 §3.5): no bytes have two texts.
    package static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        Base64.decode(text, last: (UInt8(ascii: "-"), UInt8(ascii: "_")), mayLeaveBits: false)
    }
}

/// Base64 with `+`, `/` and padding (RFC 4648 §4): the form of binary data in a structured CloudEvent.
package enum Base64 {
    /// The decoded bytes; nil if the text is not base64. Allocates: not for the hot path.
    package static func decode(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
        guard text.count.isMultiple(of: 4) else { return nil }
        let padding = text.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
        return decode(text.dropLast(padding), last: (UInt8(ascii: "+"), UInt8(ascii: "/")), mayLeaveBits: true)
    }

    /// - Parameter last: the digits for 62 and 63.
    fileprivate static func decode(
        _ text: some Sequence<UInt8>, last: (UInt8, UInt8), mayLeaveBits: Bool
    ) -> [UInt8]? {
        var bytes: [UInt8] = []
        var pending: UInt32 = 0
        var bits: UInt32 = 0
        var count = 0
        for character in text {
            let digit: UInt32
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit = UInt32(character - UInt8(ascii: "A"))
            case UInt8(ascii: "a")...UInt8(ascii: "z"): digit = UInt32(character - UInt8(ascii: "a")) + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = UInt32(character - UInt8(ascii: "0")) + 52
            case last.0: digit = 62
            case last.1: digit = 63
            default: return nil
            }
            count += 1
            pending = pending << 6 | digit
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: pending >> bits))
            }
        }
        let left = pending & (1 << bits - 1)
        return count % 4 == 1 || left != 0 && !mayLeaveBits ? nil : bytes
    }
}
