extension PushValue {
    /// How many arrays and objects may be inside each other, in what is read and in what is written.
    static let maxDepth = 64

    /// Reads JSON as `JSON.parse` does. Of a member that occurs twice, the last one counts.
    ///
    /// - Returns: nil where this is not JSON, or where values are nested more than 64 deep.
    public init?(json: String) {
        self.init(json: json.utf8)
    }

    /// Reads JSON in UTF-8. Bytes that are not UTF-8, inside a string, are read as U+FFFD.
    public init?(json bytes: some Sequence<UInt8>) {
        var parser = JSONParser(Array(bytes))
        guard let value = parser.parse() else { return nil }
        self = value
    }

    /// Compact JSON: no spaces, members in the order of their names' UTF-8 bytes, `/` and everything beyond ASCII as
    /// it is. What is nested more than 64 deep is written as null.
    public var json: String {
        var writer = ByteWriter(capacity: 128)
        writer.append(self, depth: 0)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension ByteWriter {
    fileprivate mutating func append(_ value: PushValue, depth: Int) {
        switch value {
        case .null: append("null" as StaticString)
        case .bool(true): append("true" as StaticString)
        case .bool(false): append("false" as StaticString)
        case .number(let text): append(text)
        case .string(let text): appendQuoted(text)
        case .array(let elements):
            guard depth < PushValue.maxDepth else { return append("null" as StaticString) }
            append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { append(UInt8(ascii: ",")) }
                append(element, depth: depth + 1)
            }
            append(UInt8(ascii: "]"))
        case .object(let members):
            guard depth < PushValue.maxDepth else { return append("null" as StaticString) }
            append(UInt8(ascii: "{"))
            let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            for (index, member) in sorted.enumerated() {
                if index > 0 { append(UInt8(ascii: ",")) }
                appendQuoted(member.key)
                append(UInt8(ascii: ":"))
                append(member.value, depth: depth + 1)
            }
            append(UInt8(ascii: "}"))
        }
    }

    private mutating func appendQuoted(_ text: String) {
        append(UInt8(ascii: "\""))
        appendEscaped(text)
        append(UInt8(ascii: "\""))
    }
}
