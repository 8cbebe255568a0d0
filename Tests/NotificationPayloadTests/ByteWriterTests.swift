import NotificationPayload
import TestSupport
import Testing

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
            for index in 0..<24 {
                let letters = [UInt8](repeating: UInt8(ascii: "x"), count: 24)
                let text = escaped(letters[..<index] + [byte] + letters[index...])
                let before = String(repeating: "x", count: index)
                #expect(text == before + alone + String(repeating: "x", count: 24 - index))
            }
        }
    }

    @Test("random bytes are escaped as one by one", arguments: [1, 2, 3] as [UInt64])
    func random(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
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

    @Test("a payload is written as if it were escaped twice, and its own size is known", arguments: [4, 5] as [UInt64])
    func embedded(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let names = [
            "message_id", "order_id", "parent_order_id", "visible_id", "event_type", "delivery_date", "start_time",
            "end_time", "place_id", "previous_status", "new_status", "order_number",
        ]
        for round in 0..<300 {
            let values = names.map { _ in
                (0..<Int(generator.next() % 40)).map { _ in
                    let byte = UInt8(truncatingIfNeeded: generator.next() % 128)
                    // Half of the rounds have no byte that needs an escape.
                    return round % 2 == 0 && JSONEscape.isNeeded(byte) ? UInt8(ascii: "x") : byte
                }
            }
            let used = round % 3 == 0 ? 9 : 12
            let fields = zip(names, values).prefix(used).map { #""\#($0)":"\#(escaped($1))""# }
            let plain = #"{"data":{"# + fields.joined(separator: ",") + "}}"
            let texts = values.map { String(decoding: $0, as: UTF8.self) }
            let payload = OrderPayload(
                messageID: texts[0], orderID: texts[1], parentOrderID: texts[2], visibleID: texts[3],
                eventType: texts[4], deliveryDate: texts[5], startTime: texts[6], endTime: texts[7], placeID: texts[8],
                statusChange: used == 9 ? nil : .init(previous: texts[9], new: texts[10], orderNumber: texts[11]))
            #expect(payload.encoded() == plain, "seed \(seed)")
            var writer = ByteWriter(capacity: 0)
            let size = payload.withBytes { writer.append($0) }
            #expect(size == plain.utf8.count, "seed \(seed)")
            #expect(String(decoding: writer.bytes, as: UTF8.self) == escaped(Array(plain.utf8)), "seed \(seed)")
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

    @Test(
        "a number in decimal is what Swift prints",
        arguments: [
            0, 7, 10, 99, 100, 101, 999, 1_000, 1_751_900_400_000, -1, -10, -1_500, Int64.max, Int64.min,
        ] as [Int64])
    func decimal(number: Int64) {
        var writer = ByteWriter(capacity: 1)
        writer.append(decimal: number)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == "\(number)")
    }
}
