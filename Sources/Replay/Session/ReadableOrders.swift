/// The order ids in a value that is no event, as far as they can be read: it may be cut off, or no JSON at all.
enum ReadableOrders {
    /// Of a larger value only the beginning is read, as in a dead letter.
    private static let mostBytes = 65_536
    private static let mostIDs = 20
    private static let mostIDBytes = 200

    /// Texts and numbers of members that are called as an order's id, in the order of the value. An `id` counts inside of
    /// an `order`, and elsewhere only where there is no such member.
    static func ids(in value: UnsafeRawBufferPointer?) -> [String] {
        guard let value else { return [] }
        var bytes = UnsafeRawBufferPointer(rebasing: value.prefix(mostBytes))[...]
        var named: [String] = []
        var other: [String] = []
        var isInOrder = false
        while let name = text(&bytes), named.count < mostIDs {
            guard skip(UInt8(ascii: ":"), in: &bytes) else { continue }
            switch name.lowercased().filter({ $0 != "_" }) {
            case "order": isInOrder = true
            case "orderid", "ordernumber": scalar(&bytes).map { named.append($0) }
            case "id":
                guard let id = scalar(&bytes) else { continue }
                if isInOrder { named.append(id) } else { other.append(id) }
            default: continue
            }
        }
        return named.isEmpty ? Array(other.prefix(1)) : named
    }

    /// Up to the end of the next text; its content.
    private static func text(_ bytes: inout Slice<UnsafeRawBufferPointer>) -> String? {
        guard let start = bytes.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
        let isEscaped = start > bytes.base.startIndex && bytes.base[start - 1] == UInt8(ascii: "\\")
        bytes = bytes[(start + 1)...]
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
        var content = bytes[..<end]
        // An envelope may have the event as a text, whose quotes are escaped.
        if content.last == UInt8(ascii: "\\") {
            guard isEscaped else {
                bytes = bytes[end...]
                return ""
            }
            content = content.dropLast()
        }
        bytes = bytes[(end + 1)...]
        return content.count <= mostIDBytes ? String(decoding: content, as: UTF8.self) : ""
    }

    /// A text or a whole number at the beginning.
    private static func scalar(_ bytes: inout Slice<UnsafeRawBufferPointer>) -> String? {
        skipBlanks(&bytes)
        if bytes.first == UInt8(ascii: "\"") || bytes.first == UInt8(ascii: "\\") {
            return text(&bytes).flatMap { $0.isEmpty ? nil : $0 }
        }
        let digits = bytes.prefix { $0 &- UInt8(ascii: "0") <= 9 }
        bytes = bytes[digits.endIndex...]
        return digits.isEmpty || digits.count > mostIDBytes ? nil : String(decoding: digits, as: UTF8.self)
    }

    private static func skip(_ byte: UInt8, in bytes: inout Slice<UnsafeRawBufferPointer>) -> Bool {
        skipBlanks(&bytes)
        guard bytes.first == byte else { return false }
        bytes = bytes.dropFirst()
        return true
    }

    private static func skipBlanks(_ bytes: inout Slice<UnsafeRawBufferPointer>) {
        bytes = bytes.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
    }
}
