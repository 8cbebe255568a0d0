import TestSupport
import Testing

@testable import NotificationPayload

@Suite("The members of a payload, found in the text that the pipeline has written")
struct EmbeddedFieldsTests {
    /// The members as they would be in a JSON string of their own, with the sizes of the values.
    private func read(_ payload: OrderPayload) -> [(text: String, size: Int)] {
        var writer = ByteWriter()
        _ = payload.withBytes { writer.append($0) }
        var fields = EmbeddedFields()
        fields.find(in: writer.bytes)
        var found: [(text: String, size: Int)] = []
        for field in OrderField.allCases {
            var value = ByteWriter()
            let size = value.append(unembedding: UnsafeRawBufferPointer(rebasing: writer.bytes[fields[field]]))
            found.append((String(decoding: value.bytes, as: UTF8.self), size))
        }
        return found
    }

    private func escaped(_ text: String) -> String {
        var writer = ByteWriter()
        writer.appendEscaped(text)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test("every member of any payload is found, with its own escapes and its size")
    func generated() throws {
        var random = SeededGenerator(seed: try RunSeed.value())
        let pieces = [
            "\"", "\\", "\\\"", "n", "u", "\n", "\u{0}", "\u{1F}", "/", "é", "😀", "{", "}", ",", ":", "data", " ",
        ]
        func text() -> String {
            (0..<Int.random(in: 0..<12, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
                .joined()
        }
        for _ in 0..<5_000 {
            let values = (0..<12).map { _ in text() }
            let hasStatus = Bool.random(using: &random)
            let payload = OrderPayload(
                messageID: values[0], orderID: values[1], parentOrderID: values[2], visibleID: values[3],
                eventType: values[4], deliveryDate: values[5], startTime: values[6], endTime: values[7],
                placeID: values[8],
                statusChange: hasStatus ? .init(previous: values[9], new: values[10], orderNumber: values[11]) : nil)
            let expected = hasStatus ? values : values.prefix(9) + ["", "", ""]
            let found = read(payload)
            #expect(found.map(\.text) == expected.map(escaped), "\(random)")
            #expect(found.map(\.size) == expected.map(\.utf8.count), "\(random)")
        }
    }

    @Test(
        "what was not written by the pipeline has no members, and no text traps",
        arguments: [
            "", "{}", #"{\"data\":{"#, #"{\"data\":{\"message_id\":\"abc"#, #"{\"data\":{\"message_id\":\"abc\\"#,
            #"{\"data\":{\"message_id\":\"abc\\\"#, #"{\"data\":{\"order_id\":\"abc\"}}"#,
        ])
    func other(_ text: String) {
        var fields = EmbeddedFields()
        var text = text
        text.withUTF8 { fields.find(in: UnsafeRawBufferPointer($0)) }
        for field in OrderField.allCases { #expect(fields[field].isEmpty) }
    }

    @Test(
        "a value that ends within an escape is copied as far as it goes",
        arguments: ["\\", "\\\\", "a\\\\u00", "\\\\\\"])
    func cut(_ text: String) {
        var writer = ByteWriter()
        var text = text
        text.withUTF8 { _ = writer.append(unembedding: UnsafeRawBufferPointer($0)) }
        #expect(writer.count <= text.utf8.count)
    }
}
