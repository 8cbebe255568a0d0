import JSONReader
import NotificationPayload

extension BroadcastExtractor {
    /// A lifetime from its publication, or an instant.
    ///
    /// - Parameter publishedAt: nil if it is refused.
    func expiry(
        of members: BroadcastMembers, publishedAt: WallTime?
    ) throws(RequestFinding) -> Broadcast.Expiry {
        guard let value = members.present(.expiry), let expiry = Broadcast.Expiry(value) else {
            try findings.refuse(members.wrong(.expiry, .expiry))
            return .lifetime(milliseconds: 0)
        }
        let validity =
            switch expiry {
            case .lifetime(let milliseconds): milliseconds
            case .instant(let milliseconds): publishedAt.map { WallTime(milliseconds: milliseconds) - $0 } ?? 0
            }
        if validity > BroadcastNotification.longestValidity {
            try findings.refuse(RequestFinding(.tooLongValidity(validity), at: BroadcastMembers.pointer(.expiry)))
        }
        return expiry
    }

    /// - Parameter unknown: counts a type that document 4 does not list.
    func display(_ members: BroadcastMembers, _ unknown: inout Int) throws(RequestFinding) -> Broadcast.Display {
        let name = members.present(.notificationType)?.string
        if name == nil { try findings.refuse(members.wrong(.notificationType, .displayType)) }
        let kind = name.flatMap { Broadcast.Display.Kind(rawValue: String($0)) }
        if kind == nil { unknown += 1 }
        return Broadcast.Display(
            kind: kind ?? .others, isCancellable: try isCancellable(members), poster: try poster(of: members),
            texts: try texts(of: members))
    }

    func nonDisplay(_ members: BroadcastMembers) throws(RequestFinding) -> Broadcast.NonDisplay {
        let name = members.present(.notificationType)?.string
        let kind = name.flatMap { Broadcast.NonDisplay.Kind(rawValue: String($0)) }
        if kind == nil {
            try findings.refuse(
                name.map {
                    RequestFinding(.unknownNonDisplayType($0.bytes), at: BroadcastMembers.pointer(.notificationType))
                } ?? members.wrong(.notificationType, .nonDisplayType))
        }
        let data = try findings.attempt(try members.string(.data)).map { String(decoding: $0, as: UTF8.self) }
        return Broadcast.NonDisplay(kind: kind ?? .enableFeature, data: data)
    }

    /// Without `type` the user can dismiss it.
    private func isCancellable(_ members: BroadcastMembers) throws(RequestFinding) -> Bool {
        guard let value = members.present(.type) else { return true }
        if let text = value.string {
            if text == "cancellable" { return true }
            if text == "non-cancellable" { return false }
        }
        try findings.refuse(members.wrong(.type, .cancellation))
        return true
    }

    private func poster(of members: BroadcastMembers) throws(RequestFinding) -> String? {
        guard let value = members.present(.poster) else { return nil }
        let start: StaticString = "https://"
        guard let url = value.string?.bytes, url.hasPrefix(start), url.count > start.utf8CodeUnitCount,
            !url.contains(where: { $0 <= 0x20 || $0 == 0x7F })
        else {
            try findings.refuse(members.wrong(.poster, .poster))
            return nil
        }
        return String(decoding: url, as: UTF8.self)
    }

    private func texts(of members: BroadcastMembers) throws(RequestFinding) -> [Broadcast.Text] {
        guard let list = members.present(.fields), list.isArray else {
            try findings.refuse(members.wrong(.fields, .fields))
            return []
        }
        let count = list.elementCount
        guard (1...BroadcastNotification.mostLanguages).contains(count) else {
            try findings.refuse(RequestFinding(.languageCount(count), at: BroadcastMembers.pointer(.fields)))
            return []
        }
        var texts: [Broadcast.Text] = []
        var elements = list.elements
        while let element = elements.next() {
            let text = try text(element, texts.count)
            if !text.language.isEmpty,
                let first = texts.firstIndex(where: { LanguageTag.isSame($0.language.utf8, text.language.utf8) })
            {
                try findings.refuse(
                    RequestFinding(
                        .repeatedLanguage(text.language, texts.count, first: first),
                        at: "/fields/\(texts.count)/language"))
            }
            texts.append(text)
        }
        return texts
    }

    /// The text of one language; what is refused is empty.
    private func text(_ element: JSONValue, _ index: Int) throws(RequestFinding) -> Broadcast.Text {
        let holder = "fields[\(index)]"
        let pointer = "/fields/\(index)"
        guard element.isObject else {
            try findings.refuse(RequestFinding(.badRequest(holder, element, .object), at: pointer))
            return Broadcast.Text(language: "", title: "", message: "")
        }
        let members = BroadcastTextMembers(element)
        try members.refuseUnknownMembers(
            findings, of: holder, at: pointer, allowed: BroadcastTextMember.allCases.map(\.rawValue))
        func wrong(_ name: BroadcastTextMember, _ expected: RequestValue) -> RequestFinding {
            RequestFinding(
                .badRequest("\(holder).\(name.rawValue)", members[name], expected), at: "\(pointer)/\(name.rawValue)")
        }
        func string(_ name: BroadcastTextMember) throws(RequestFinding) -> String {
            guard let text = members.present(name)?.string else {
                try findings.refuse(wrong(name, .requiredString))
                return ""
            }
            return String(text)
        }
        var language = try string(.language)
        let isTag =
            LanguageTag.isTag(language.utf8) && language.utf8.count <= BroadcastNotification.longestLanguage
        if !language.isEmpty, !isTag {
            try findings.refuse(wrong(.language, .language))
            language = ""
        }
        return Broadcast.Text(language: language, title: try string(.title), message: try string(.message))
    }
}

extension Broadcast.Expiry {
    /// `34646millis`, an ISO 8601 time, or milliseconds since 1970 from 10^11 on, as a number or a text. Seconds are
    /// refused: they could be meant as a lifetime.
    init?(_ value: JSONValue) {
        if let text = value.string?.bytes.trimmed {
            if let lifetime = Self.lifetime(text) {
                self = .lifetime(milliseconds: lifetime)
                return
            }
            if let number = Self.number(text), number < Self.firstInstant { return nil }
        } else if (value.integer ?? 0) < Self.firstInstant {
            return nil
        }
        guard let time = WallTime(value) else { return nil }
        self = .instant(milliseconds: time.milliseconds)
    }
}
