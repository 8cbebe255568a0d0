import JSONReader
import NotificationPayload

extension RequestExtractor {
    /// Document 2's object (docs/rules.md §9).
    mutating func readApp(_ members: AppMembers) throws(RequestFinding) -> RequestContent {
        try members.refuseUnknownMembers(findings)
        var content = RequestContent()
        content.title = try findings.attempt(try members.requiredString(.title))
        content.body = try findings.attempt(try members.requiredString(.body))
        if let value = members.present(.imageURL) {
            if let image = value.string?.bytes, image.hasPrefix("https://") || image.hasPrefix("http://") {
                content.image = image
            } else {
                try findings.refuse(members.wrong(.imageURL, .imageURL))
            }
        }
        guard let data = try members.object(.data) else { throw members.wrong(.data, .object) }
        readData(data)
        try refuseReservedKeys(in: "app.data", at: "/app/data", isMessage: false)
        if members.present(.imageURL) != nil, custom.position(of: "imageUrl") != nil {
            try findings.refuse(
                RequestFinding(.bothThere("app.imageUrl", "app.data.imageUrl"), at: AppMembers.pointer(.imageURL)))
        }
        try checkType()
        noteOverwrittenKey()
        _ = linkOrder()
        return content
    }

    /// Reads the members, without the quotes around their keys (docs/rules.md §9).
    private mutating func readData(_ data: JSONValue) {
        custom.begin(.capitalised)
        var members = data.members
        while let (name, value) = members.next() {
            let key = name.bytes.unquoted
            if key.count < name.count { oddities.quotedKeys += 1 }
            custom.set(key, value)
        }
    }

    /// What the type fixes and expects (docs/rules.md §9.1).
    private mutating func checkType() throws(RequestFinding) {
        let place = custom.position(of: "type")
        let value = place.flatMap { custom.value($0) }
        // Only whether it is a text: it is compared and sent as it is.
        guard let position = place, let value, value.isNumber || value.string?.bytes.trimmed.isEmpty == false else {
            return try findings.refuse(RequestFinding(.badRequest("app.data.type", value, .text), at: "/app/data/type"))
        }
        let name = custom.text(position)
        guard let type = types.type(named: name) else {
            switch rules.unknownTypes {
            case .send: oddities.unknownTypes += 1
            case .deadLetter: try findings.refuse(RequestFinding(.unknownAppType(name), at: "/app/data/type"))
            }
            return
        }
        for pair in types.pairs[type.fixed] {
            try fix(pair, of: type)
        }
        for key in types.expected[type.expected] where custom.position(of: types.bytes(key)) == nil {
            oddities.missingKeys += 1
        }
    }

    /// Adds a fixed pair that is absent, and refuses its key with another value.
    private mutating func fix(_ pair: KnownAppTypes.Pair, of type: KnownAppTypes.Known) throws(RequestFinding) {
        let key = types.bytes(pair.key)
        let value = types.bytes(pair.value)
        guard let position = custom.position(of: key) else {
            custom.add(key, value)
            return
        }
        let found = custom.text(position)
        if let flag = pair.flag, found.equalsIgnoringCase(flag ? "true" : "false") {
            custom.replace(position, by: value)
        } else if !sameBytes(found, value) {
            try findings.refuse(
                RequestFinding(
                    .fixedPair(key, found: found, type: types.bytes(type.name), value: value),
                    at: "/app/data/\(RequestFinding.escape(String(decoding: key, as: UTF8.self)))"))
        }
    }
}

/// Made once: a literal in the loop would allocate.
private let quotes: [StaticString] = ["\"", "'", "‘", "’", "“", "”"]

extension UnsafeRawBufferPointer {
    /// Without the quotes at both ends, ASCII's and the typographic ones.
    fileprivate var unquoted: UnsafeRawBufferPointer {
        guard let first, let last, first.mayBeQuote || last.mayEndQuote else { return self }
        var text = self
        while let width = text.quoteWidth(atEnd: false) {
            text = UnsafeRawBufferPointer(rebasing: text[width...])
        }
        while let width = text.quoteWidth(atEnd: true) {
            text = UnsafeRawBufferPointer(rebasing: text[..<(text.count - width)])
        }
        return text
    }

    private func quoteWidth(atEnd: Bool) -> Int? {
        for quote in quotes where atEnd ? hasSuffix(quote) : hasPrefix(quote) {
            return quote.utf8CodeUnitCount
        }
        return nil
    }
}

extension UInt8 {
    fileprivate var mayBeQuote: Bool { self == UInt8(ascii: "\"") || self == UInt8(ascii: "'") || self == 0xE2 }
    fileprivate var mayEndQuote: Bool { self == UInt8(ascii: "\"") || self == UInt8(ascii: "'") || self >= 0x80 }
}
