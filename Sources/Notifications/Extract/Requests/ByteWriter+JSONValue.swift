import JSONReader
import NotificationPayload

extension ByteWriter {
    /// Appends the compact JSON text of a value (docs/rules.md §5.1): its members as they are, repeated ones included.
    mutating func append(json value: JSONValue) {
        if let text = value.string {
            append(quoted: text.bytes)
        } else if value.isObject {
            appendObject(value)
        } else if value.isArray {
            appendArray(value)
        } else if let flag = value.boolean {
            append(flag ? "true" : "false" as StaticString)
        } else if value.isNull {
            append("null" as StaticString)
        } else {
            append(number: value)
        }
    }

    package mutating func append(quoted text: UnsafeRawBufferPointer) {
        append(UInt8(ascii: "\""))
        appendEscaped(text)
        append(UInt8(ascii: "\""))
    }

    /// A number as JavaScript prints it.
    package mutating func append(number value: JSONValue) {
        append(upTo: JSONNumberText.maxCount) { $0 + (JSONNumberText.write(value, to: $0) ?? 0) }
    }

    /// Nested at most as deep as the reader allows.
    private mutating func appendObject(_ object: JSONValue) {
        append(UInt8(ascii: "{"))
        var members = object.members
        var isFirst = true
        while let (name, value) = members.next() {
            if !isFirst { append(UInt8(ascii: ",")) }
            isFirst = false
            append(quoted: name.bytes)
            append(UInt8(ascii: ":"))
            append(json: value)
        }
        append(UInt8(ascii: "}"))
    }

    private mutating func appendArray(_ array: JSONValue) {
        append(UInt8(ascii: "["))
        var elements = array.elements
        var isFirst = true
        while let value = elements.next() {
            if !isFirst { append(UInt8(ascii: ",")) }
            isFirst = false
            append(json: value)
        }
        append(UInt8(ascii: "]"))
    }
}
