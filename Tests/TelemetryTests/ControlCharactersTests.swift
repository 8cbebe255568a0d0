import Foundation
import Testing

@testable import Telemetry

@Suite struct ControlCharactersTests {
    /// Written out, not taken from the code: C0, DELETE and C1 (General_Category Cc), the separators of lines and
    /// paragraphs (Zl, Zp), and the twelve of Unicode's property Bidi_Control.
    private let dangerous =
        Array(0x00...0x1F) + Array(0x7F...0x9F) + [0x2028, 0x2029] + [0x061C, 0x200E, 0x200F] + Array(0x202A...0x202E)
        + Array(0x2066...0x2069)

    @Test("every scalar of the dangerous classes is escaped, and no other one")
    func everyScalar() {
        let dangerous = Set(dangerous.map(UInt32.init))
        #expect(dangerous.count == 32 + 33 + 2 + 12)
        for value in UInt32(0)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = String(scalar)
            let isEscaped = text.inOneLine != text
            if isEscaped != dangerous.contains(value) {
                Issue.record("U+\(String(value, radix: 16)) is \(isEscaped ? "" : "not ")escaped")
            }
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: #expect(isEscaped)
            default: break
            }
        }
    }

    @Test("an escape names the character, and stands in its place")
    func names() {
        #expect(
            "a\u{1B}[31mb\u{9B}c\u{202E}d\u{7F}e\u{0}\u{2028}".inOneLine
                == #"a\u{1b}[31mb\u{9b}c\u{202e}d\u{7f}e\u{0}\u{2028}"#)
        #expect("Ünïcode 🔔 שלום 👩‍👩‍👧".inOneLine == "Ünïcode 🔔 שלום 👩‍👩‍👧")
    }

    @Test("a line feed may stay where a text has lines, also one that follows a carriage return")
    func lines() {
        #expect("a\nb\r\nc\u{1B}".inLines == "a\nb\\u{d}\nc\\u{1b}")
        #expect("a\nb\r\nc".inOneLine == "a\\u{a}b\\u{d}\\u{a}c")
    }

    @Test("JSON with each of these characters in names and values means the same, and has none of them")
    func json() throws {
        var text = ""
        for value in dangerous { text.unicodeScalars.append(try #require(Unicode.Scalar(UInt32(value)))) }
        for wide in ["", "é", "\u{80}\u{C0}", "🔔", "\u{2027}\u{202F}\u{2065}\u{206A}"] {
            let document = ["\(wide)\(text)": "\(text)\(wide)", "plain": wide]
            let line = try JSONEncoder().encode(document) + Data("\n".utf8)
            let escaped = try #require(Array(line).withUnsafeBytes(PlainJSON.escaped))
            #expect(try JSONDecoder().decode([String: String].self, from: Data(escaped)) == document)
            let scalars = String(decoding: escaped, as: UTF8.self).unicodeScalars
            #expect(scalars.last == "\n")
            #expect(!scalars.dropLast().contains { dangerous.contains(Int($0.value)) })
        }
    }

    @Test("one of them is found at every place of a line, alone and behind a character beyond ASCII")
    func indices() {
        for mark in ["\u{7F}", "\u{9B}", "\u{61C}", "\u{202E}", "ü\u{7F}", "\u{7E}\u{7F}"] {
            for index in 0...24 {
                let line = String(repeating: "x", count: index) + mark + String(repeating: "y", count: 24 - index)
                #expect(Array(line.utf8).withUnsafeBytes(PlainJSON.escaped) != nil, "\(index)")
            }
        }
    }

    @Test("JSON that has none of them stays as it is")
    func plain() {
        for text in ["", "{}\n", #"{"a":"\u009b","b":"ß"}"#] {
            #expect(Array(text.utf8).withUnsafeBytes(PlainJSON.escaped) == nil)
        }
        let text = "{\"a\":\"»\u{AD}\u{60C}\u{2030}\"}\n"
        let escaped = Array(text.utf8).withUnsafeBytes(PlainJSON.escaped)
        #expect(escaped.map { String(decoding: $0, as: UTF8.self) } ?? text == text)
    }
}
