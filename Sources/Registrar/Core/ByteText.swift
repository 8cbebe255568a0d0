import Notifications

/// A text that is equal to another, and before it, by its bytes in UTF-8. A `String` calls texts equal that Unicode does,
/// and an audience or a person is known to Kafka by bytes.
package struct ByteText: Hashable, Comparable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package init(stringLiteral text: String) {
        self.text = text
    }

    package var description: String { text }

    package static func == (left: Self, right: Self) -> Bool {
        var (left, right) = (left.text, right.text)
        return left.withUTF8 { left in
            right.withUTF8 { right in left.count == right.count && left.elementsEqual(right) }
        }
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

extension ByteText {
    /// The kind of audience that it is; nil if it is none.
    package var audience: Audience? { Array(text.utf8).withUnsafeBytes { Audience(of: $0) } }

    /// Whose audience `user/<id>` it is; nil if it is another one.
    package var person: ByteText? {
        guard audience == .user else { return nil }
        // By bytes: an accent that begins an id would be one character with the slash before it.
        return ByteText(String(decoding: text.utf8.dropFirst("user/".utf8.count), as: UTF8.self))
    }
}
