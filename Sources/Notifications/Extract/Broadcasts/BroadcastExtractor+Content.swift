import JSONReader
import NotificationPayload

extension BroadcastExtractor {
    /// A lifetime from its publication, or an instant.
    func expiry(
        of members: BroadcastMembers, publishedAt: WallTime
    ) throws(DeadLetter) -> Broadcast.Expiry {
        guard let value = members.present(.expiry), let expiry = Broadcast.Expiry(value) else {
            throw members.wrong(.expiry, .expiry)
        }
        let validity =
            switch expiry {
            case .lifetime(let milliseconds): milliseconds
            case .instant(let milliseconds): WallTime(milliseconds: milliseconds) - publishedAt
            }
        guard validity <= BroadcastNotification.longestValidity else { throw .tooLongValidity(validity) }
        return expiry
    }

    /// - Parameter unknown: counts a type that document 4 does not list.
    func display(_ members: BroadcastMembers, _ unknown: inout Int) throws(DeadLetter) -> Broadcast.Display {
        guard let name = members.present(.notificationType)?.string else {
            throw members.wrong(.notificationType, .displayType)
        }
        let kind = Broadcast.Display.Kind(rawValue: String(name))
        if kind == nil { unknown += 1 }
        return Broadcast.Display(
            kind: kind ?? .others, isCancellable: try isCancellable(members), poster: try poster(of: members),
            texts: try texts(of: members))
    }

    func nonDisplay(_ members: BroadcastMembers) throws(DeadLetter) -> Broadcast.NonDisplay {
        guard let name = members.present(.notificationType)?.string else {
            throw members.wrong(.notificationType, .nonDisplayType)
        }
        guard let kind = Broadcast.NonDisplay.Kind(rawValue: String(name)) else {
            throw .unknownNonDisplayType(name.bytes)
        }
        let data = try members.string(.data).map { String(decoding: $0, as: UTF8.self) }
        return Broadcast.NonDisplay(kind: kind, data: data)
    }

    /// Without `type` the user can dismiss it.
    private func isCancellable(_ members: BroadcastMembers) throws(DeadLetter) -> Bool {
        guard let value = members.present(.type) else { return true }
        if let text = value.string {
            if text == "cancellable" { return true }
            if text == "non-cancellable" { return false }
        }
        throw members.wrong(.type, .cancellation)
    }

    private func poster(of members: BroadcastMembers) throws(DeadLetter) -> String? {
        guard let value = members.present(.poster) else { return nil }
        let start: StaticString = "https://"
        guard let url = value.string?.bytes, url.hasPrefix(start), url.count > start.utf8CodeUnitCount,
            !url.contains(where: { $0 <= 0x20 || $0 == 0x7F })
        else { throw members.wrong(.poster, .poster) }
        return String(decoding: url, as: UTF8.self)
    }

    private func texts(of members: BroadcastMembers) throws(DeadLetter) -> [Broadcast.Text] {
        guard let list = members.present(.fields), list.isArray else { throw members.wrong(.fields, .fields) }
        var texts: [Broadcast.Text] = []
        var elements = list.elements
        var count = 0
        while let element = elements.next() {
            count += 1
            guard count <= BroadcastNotification.mostLanguages else { continue }
            let text = try text(element, count - 1)
            if let first = texts.firstIndex(where: { LanguageTag.isSame($0.language.utf8, text.language.utf8) }) {
                throw .repeatedLanguage(text.language, count - 1, first: first)
            }
            texts.append(text)
        }
        guard (1...BroadcastNotification.mostLanguages).contains(count) else { throw .languageCount(count) }
        return texts
    }

    private func text(_ element: JSONValue, _ index: Int) throws(DeadLetter) -> Broadcast.Text {
        let holder = "fields[\(index)]"
        guard element.isObject else { throw .badRequest(holder, element, .object) }
        let members = BroadcastTextMembers(element)
        if let unknown = members.unknown {
            throw .unknownMember(unknown.bytes, of: holder, allowed: BroadcastTextMember.allCases.map(\.rawValue))
        }
        func string(_ name: BroadcastTextMember) throws(DeadLetter) -> String {
            guard let text = members.present(name)?.string else {
                throw .badRequest("\(holder).\(name.rawValue)", members[name], .requiredString)
            }
            return String(text)
        }
        let language = try string(.language)
        guard LanguageTag.isTag(language.utf8), language.utf8.count <= BroadcastNotification.longestLanguage else {
            throw .badRequest("\(holder).language", members[.language], .language)
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
