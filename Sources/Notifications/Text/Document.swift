import NotificationPayload

/// A JSON document that is written, its members in the order in which they are given.
package enum Document: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    case null
    case text(String)
    case integer(Int64)
    case boolean(Bool)
    case list([Document])
    case object([(name: String, value: Document)])

    package init(stringLiteral text: String) { self = .text(text) }
    package init(integerLiteral number: Int64) { self = .integer(number) }
    package init(booleanLiteral flag: Bool) { self = .boolean(flag) }
    package init(arrayLiteral elements: Document...) { self = .list(elements) }
    package init(dictionaryLiteral members: (String, Document)...) { self = .object(members.map { ($0.0, $0.1) }) }

    /// In one line.
    package var json: String {
        var writer = ByteWriter()
        write(to: &writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func write(to writer: inout ByteWriter) {
        switch self {
        case .null: writer.append("null")
        case .text(let text): Self.write(text, to: &writer)
        case .integer(let number): writer.append(decimal: number)
        case .boolean(let flag): writer.append(flag ? "true" : "false" as StaticString)
        case .list(let elements):
            writer.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { writer.append(UInt8(ascii: ",")) }
                element.write(to: &writer)
            }
            writer.append(UInt8(ascii: "]"))
        case .object(let members):
            writer.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { writer.append(UInt8(ascii: ",")) }
                Self.write(member.name, to: &writer)
                writer.append(UInt8(ascii: ":"))
                member.value.write(to: &writer)
            }
            writer.append(UInt8(ascii: "}"))
        }
    }

    private static func write(_ text: String, to writer: inout ByteWriter) {
        writer.append(UInt8(ascii: "\""))
        writer.appendEscaped(text)
        writer.append(UInt8(ascii: "\""))
    }
}
