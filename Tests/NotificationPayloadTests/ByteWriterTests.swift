import Testing

@testable import NotificationPayload

@Suite("Writing JSON")
struct ByteWriterTests {
    private func escaped(_ bytes: [UInt8]) -> String {
        var writer = ByteWriter(capacity: 1)
        bytes.withUnsafeBytes { writer.appendEscaped($0) }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test("§5.1: a slash and everything beyond ASCII stay as they are, escapes are in lower case")
    func escapes() {
        #expect(
            escaped(Array("/é😀\u{7F}\u{2028}\"\\\u{0}\u{8}\t\n\u{B}\u{C}\r\u{1f}".utf8))
                == #"/é😀\#u{7F}\#u{2028}\"\\\u0000\b\t\n\u000b\f\r\u001f"#)
        #expect(escaped([]) == "")
    }

    @Test("every byte is escaped alike wherever it stands in a word")
    func positions() {
        for byte in UInt8(0)..<128 {
            let alone = escaped([byte])
            for place in 0..<24 {
                let letters = [UInt8](repeating: UInt8(ascii: "x"), count: 24)
                let text = escaped(letters[..<place] + [byte] + letters[place...])
                let before = String(repeating: "x", count: place)
                #expect(text == before + alone + String(repeating: "x", count: 24 - place))
            }
        }
    }

    @Test("random bytes are escaped as one by one", arguments: [1, 2, 3] as [UInt64])
    func random(seed: UInt64) {
        var generator = SplitMix(seed: seed)
        for _ in 0..<500 {
            let alphabet: [UInt8] = [0, 0x1F, 0x20, 0x22, 0x5C, 0x61, 0x7F, 0x80, 0xC3, 0xFF]
            let bytes = (0..<Int(generator.next() % 60)).map { _ in
                alphabet[Int(generator.next() % UInt64(alphabet.count))]
            }
            var expected = ByteWriter()
            for byte in bytes {
                [byte].withUnsafeBytes { expected.appendEscaped($0) }
            }
            var written = ByteWriter(capacity: 0)
            bytes.withUnsafeBytes { written.appendEscaped($0) }
            #expect(Array(written.bytes) == Array(expected.bytes), "seed \(seed)")
        }
    }

    @Test("a writer keeps its memory and forgets its bytes")
    func reuse() {
        var writer = ByteWriter(capacity: 1)
        writer.append("0123456789")
        writer.append(UInt8(ascii: "a"))
        writer.truncate(to: 4)
        writer.truncate(to: 9)
        #expect(Array(writer.bytes) == Array("0123".utf8))
        writer.removeAll()
        #expect(writer.count == 0)
        for _ in 0..<1000 {
            writer.append("0123456789")
        }
        #expect(writer.count == 10_000)
    }
}

/// SplitMix64: the same numbers from the same seed.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
