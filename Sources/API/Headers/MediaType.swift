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
        guard let header, let type = MediaType(header[...]) else { return false }
        return types.contains(type.name)
            && type.parameters.allSatisfy { $0.name != "charset" || $0.value.lowercased() == "utf-8" }
    }

    /// Whether a client takes a type. Everything if it says nothing, or nothing that can be read.
    ///
    /// - Parameter headers: every `Accept` of the request.
    static func isAcceptable(_ type: String, _ headers: [String]) -> Bool {
        let ranges = headers.flatMap { split($0, at: ",") }.compactMap(MediaType.init)
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
        var parts = Self.split(String(text), at: ";")[...]
        let name = parts.removeFirst().trimmed.lowercased()
        let sides = name.split(separator: "/", omittingEmptySubsequences: false)
        guard sides.count == 2, sides.allSatisfy({ $0.isHTTPToken }) else { return nil }
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
    private static func split(_ text: String, at separator: Character) -> [Substring] {
        var isQuoted = false
        return text.split(omittingEmptySubsequences: false) { character in
            if character == "\"" { isQuoted.toggle() }
            return character == separator && !isQuoted
        }
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var rest = self
        while let first = rest.first, first == " " || first == "\t" { rest.removeFirst() }
        while let last = rest.last, last == " " || last == "\t" { rest.removeLast() }
        return rest
    }
}
