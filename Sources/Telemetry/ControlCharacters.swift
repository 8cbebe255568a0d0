/// Characters that text from elsewhere must not bring into a log or a terminal: they can forge a line, change what is
/// shown, or make a terminal do something.
extension Unicode.Scalar {
    /// Whether this is a control character (C0, DELETE, C1), a line or paragraph separator, or a control that changes the
    /// direction of text (Unicode's Bidi_Control).
    var needsEscape: Bool {
        switch value {
        case 0...0x1F, 0x7F...0x9F, 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

extension String {
    /// Whether it has nothing but characters of ASCII that can be seen, and blanks.
    var isPlainASCII: Bool { utf8.allSatisfy { (0x20...0x7E).contains($0) } }

    /// The text in one line: each character that needs it as `\u{1b}`.
    package var inOneLine: String { escaped { $0.needsEscape } }

    /// The text with its lines as they are, and each other character that needs it as `\u{1b}`.
    package var inLines: String { escaped { $0.needsEscape && $0 != "\n" } }

    private func escaped(_ isEscaped: (Unicode.Scalar) -> Bool) -> String {
        if isPlainASCII { return self }
        guard unicodeScalars.contains(where: isEscaped) else { return self }
        var text = UnicodeScalarView()
        for scalar in unicodeScalars {
            if isEscaped(scalar) {
                text.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
            } else {
                text.append(scalar)
            }
        }
        return String(text)
    }
}

/// JSON text without the characters of ``Swift/Unicode/Scalar``'s `needsEscape`.
package enum PlainJSON {
    /// JSON documents, a line each, that mean the same: what needs it is `\u009b` in their strings, and only there can
    /// it be.
    ///
    /// Cost: one look at every eight bytes of ASCII, and at each byte of the others, where there is nothing to do.
    ///
    /// - Returns: nil if the text can stay as it is.
    package static func escaped(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
        guard hasSuspect(text) else { return nil }
        var result: [UInt8] = []
        result.reserveCapacity(text.count + 64)
        for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
            if scalar.needsEscape, scalar != "\n" {
                result.appendJSONEscape(scalar)
            } else {
                result += String(scalar).utf8
            }
        }
        return result
    }

    private static func hasSuspect(_ text: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index + 8 <= text.count {
            let word = text.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            // The highest bit of a byte is set where it is beyond ASCII, or where the next number is: it is DELETE.
            let marks = (word | (word &+ 0x0101_0101_0101_0101)) & 0x8080_8080_8080_8080
            if marks != 0, text[index..<index + 8].contains(where: isSuspect) { return true }
            index += 8
        }
        return text[index...].contains(where: isSuspect)
    }

    /// Whether a byte is DELETE, or may begin a character that needs an escape.
    private static func isSuspect(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x7F, 0xC2, 0xD8, 0xE2: true
        default: false
        }
    }
}

extension [UInt8] {
    /// `\u009b`.
    mutating func appendJSONEscape(_ scalar: Unicode.Scalar) {
        let digits = String(scalar.value, radix: 16)
        self += #"\u"#.utf8
        self += repeatElement(UInt8(ascii: "0"), count: Swift.max(0, 4 - digits.utf8.count))
        self += digits.utf8
    }
}
