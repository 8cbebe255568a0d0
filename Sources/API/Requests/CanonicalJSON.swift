import Digests
import JSONReader
import NotificationPayload
import Notifications

/// Compares documents by what they say: neither the order of members nor blanks count.
enum CanonicalJSON {
    /// The hash of an object without some of its members.
    static func hash(_ object: JSONValue, without left: [StaticString] = []) -> StoredHash {
        var writer = ByteWriter()
        write(object, without: left, to: &writer)
        return StoredHash(of: writer.bytes)
    }

    /// Nested at most as deep as the reader allows.
    private static func write(_ value: JSONValue, without left: [StaticString] = [], to writer: inout ByteWriter) {
        if let text = value.string {
            writer.append(quoted: text.bytes)
        } else if value.isObject {
            writer.append("{")
            for (name, value) in sorted(value) where !left.contains(where: { name == $0 }) {
                writer.append(quoted: name.bytes)
                write(value, to: &writer)
            }
            writer.append("}")
        } else if value.isArray {
            writer.append("[")
            var elements = value.elements
            while let element = elements.next() {
                write(element, to: &writer)
                writer.append(",")
            }
            writer.append("]")
        } else if let flag = value.boolean {
            writer.append(flag ? "true" : "false" as StaticString)
        } else if value.isNull {
            writer.append("null")
        } else {
            writer.append(number: value)
        }
    }

    private static func sorted(_ object: JSONValue) -> [(name: JSONText, value: JSONValue)] {
        var all: [(name: JSONText, value: JSONValue)] = []
        var members = object.members
        while let member = members.next() { all.append(member) }
        return all.sorted { $0.name.bytes.lexicographicallyPrecedes($1.name.bytes) }
    }
}
