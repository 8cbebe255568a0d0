/// Finds the members of a payload in the text that ``ByteWriter/append(_:)-(OrderPayloadBytes)`` wrote.
///
/// One owner; nothing is allocated after `init`.
package struct EmbeddedFields: ~Copyable {
    private var ranges: [Range<Int>]
    /// Those after document 1's.
    private var added: [(name: Range<Int>, value: Range<Int>)] = []
    /// Made once: a list for each payload would be allocated.
    private static let fields = OrderField.allCases

    package init() {
        ranges = Array(repeating: 0..<0, count: Self.fields.count)
    }

    /// Where a member's value is in the text, embedded as it is there; empty if the payload does not have it.
    package subscript(field: OrderField) -> Range<Int> { ranges[field.index] }

    /// Where the value of a member after document 1's is in the text; empty if the payload does not have it.
    package func value(of name: UnsafeRawBufferPointer, in text: UnsafeRawBufferPointer) -> Range<Int> {
        added.first { sameBytes(UnsafeRawBufferPointer(rebasing: text[$0.name]), name) }?.value ?? 0..<0
    }

    /// Looks for all members. Those of a text that was not written by the writer are empty.
    package mutating func find(in text: UnsafeRawBufferPointer) {
        for index in ranges.indices { ranges[index] = 0..<0 }
        added.removeAll(keepingCapacity: true)
        var position = 0
        guard Self.skip(#"{\"data\":{"#, in: text, &position) else { return }
        for field in Self.fields {
            var start = position
            if field.index > 0, !Self.skip(",", in: text, &start) { return }
            guard Self.skip(field.opening, in: text, &start) else { break }
            guard let end = Self.end(ofValueAt: start, in: text) else { return }
            ranges[field.index] = start..<end
            position = end + 2
        }
        while Self.skip(#",\""#, in: text, &position) {
            guard let nameEnd = Self.end(ofValueAt: position, in: text) else { return }
            let name = position..<nameEnd
            position = nameEnd + 2
            guard Self.skip(#":\""#, in: text, &position), let end = Self.end(ofValueAt: position, in: text) else {
                return
            }
            added.append((name, position..<end))
            position = end + 2
        }
    }

    private static func skip(_ expected: StaticString, in text: UnsafeRawBufferPointer, _ position: inout Int) -> Bool {
        let expected = UnsafeRawBufferPointer(start: expected.utf8Start, count: expected.utf8CodeUnitCount)
        let end = position + expected.count
        guard end <= text.count, sameBytes(UnsafeRawBufferPointer(rebasing: text[position..<end]), expected) else {
            return false
        }
        position = end
        return true
    }

    /// The position of the `\"` that ends a value; nil if the text ends before. Within a value every backslash of its
    /// own is two, and one that precedes a quote or a backslash is followed by two characters more.
    private static func end(ofValueAt start: Int, in text: UnsafeRawBufferPointer) -> Int? {
        let backslash = UInt8(ascii: "\\")
        var index = start
        while index + 1 < text.count {
            guard text[index] == backslash else {
                index += 1
                continue
            }
            if text[index + 1] == UInt8(ascii: "\"") { return index }
            index += index + 2 < text.count && text[index + 2] == backslash ? 4 : 3
        }
        return nil
    }
}

extension ByteWriter {
    /// Appends a value of an embedded payload as the inside of one JSON string: without the backslashes that only the
    /// embedding added.
    ///
    /// - Returns: the size of the value itself, in bytes: less than what was appended where something is escaped.
    package mutating func append(unembedding value: UnsafeRawBufferPointer) -> Int {
        let backslash = UInt8(ascii: "\\")
        guard value.contains(backslash) else {
            append(value)
            return value.count
        }
        var (index, size) = (0, 0)
        while index < value.count {
            let byte = value[index]
            append(byte)
            size += 1
            guard byte == backslash, index + 2 < value.count else {
                index += 1
                continue
            }
            let isEscaped = value[index + 2] == backslash && index + 3 < value.count
            let escaped = value[index + (isEscaped ? 3 : 2)]
            append(escaped)
            index += isEscaped ? 4 : 3
            if !isEscaped, escaped == UInt8(ascii: "u") {
                let end = min(index + 4, value.count)
                append(UnsafeRawBufferPointer(rebasing: value[index..<end]))
                index = end
            }
        }
        return size
    }
}
