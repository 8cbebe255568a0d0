import HTTPServer

/// What `Content-Type` and `Accept` say of one type, RFC 9110 sections 8.3 and 12.5.1.
struct MediaType: Equatable {
    /// In lower case, such as `application/json`.
    var name: String
    /// Names in lower case, values without quotes.
    var parameters: [(name: String, value: String)] = []

    static func == (left: MediaType, right: MediaType) -> Bool {
        left.name == right.name && left.parameters.elementsEqual(right.parameters) { $0 == $1 }
    }

    /// Whether a body of the type may be read: of one of these types, in UTF-8.
    static func isReadable(_ header: String?, as types: [String]) -> Bool {
        guard let header else { return false }
        // As nearly everybody writes it.
        if types.contains(header) { return true }
        guard let type = MediaType(header[...]) else { return false }
        return types.contains(type.name)
            && type.parameters.allSatisfy { $0.name != "charset" || $0.value.lowercased() == "utf-8" }
    }

    /// Whether a client takes a type. Everything if it says nothing, or nothing that can be read.
    ///
    /// - Parameter headers: every `Accept` of the request.
    static func isAcceptable(_ type: String, _ headers: [String]) -> Bool {
        let ranges = headers.flatMap { split($0, at: UInt8(ascii: ",")) }.compactMap(MediaType.init)
        let family = type.prefix { $0 != "/" } + "/*"
        // The most exact range counts.
        for name in [type, String(family), "*/*"] {
            if let range = ranges.first(where: { $0.name == name }) {
                return range.parameters.allSatisfy { $0.name != "q" || $0.value.contains { ("1"..."9").contains($0) } }
            }
        }
        return ranges.isEmpty
    }

    /// - Returns: nil if it is none.
    init?(_ text: Substring) {
        var parts = Self.split(String(text), at: UInt8(ascii: ";"))[...]
        let name = parts.removeFirst().trimmed.lowercased()
        let sides = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard sides.count == 2, sides.allSatisfy({ Substring($0).isHTTPToken }) else { return nil }
        self.name = name
        for part in parts where !part.trimmed.isEmpty {
            let sides = part.trimmed.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2, sides[0].isHTTPToken else { return nil }
            var value = sides[1]
            if value.first == "\"" {
                guard value.count > 1, value.last == "\"" else { return nil }
                value = value.dropFirst().dropLast()
            } else if !value.isHTTPToken {
                return nil
            }
            parameters.append((sides[0].lowercased(), String(value)))
        }
    }

    /// Splits at a character outside of quotes; never empty.
    private static func split(_ text: String, at separator: UInt8) -> [Substring] {
        var isQuoted = false
        return text.utf8.split(omittingEmptySubsequences: false) { byte in
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            return byte == separator && !isQuoted
        }.map { Substring($0) }
    }
}

extension Substring {
    /// Without blanks and tabs at its ends.
    var trimmed: Substring {
        var rest = utf8
        while let first = rest.first, first == 0x20 || first == 0x09 { rest.removeFirst() }
        while let last = rest.last, last == 0x20 || last == 0x09 { rest.removeLast() }
        return Substring(rest)
    }
}
