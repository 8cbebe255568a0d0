import NotificationPayload

/// The titles and bodies of one order's notification, each written once for all devices of a language
/// (docs/rules.md §7.1).
///
/// One per renderer, used only by its thread. Allocates only for a notification whose texts are larger than all before.
struct OrderNotices: ~Copyable {
    /// `{"title":"…","body":"…"}` of one language.
    struct Notice {
        /// Where it is in the text; see ``OrderNotices/bytes(of:)``.
        fileprivate(set) var range: Range<Int>
        /// The bytes of title and body themselves, before they are escaped.
        fileprivate(set) var size: Int

        /// The bytes of its JSON.
        var count: Int { range.count }
    }

    /// Which of the devices have a text.
    enum Reach {
        case nobody, some, everybody
    }

    private enum Choice {
        case unknown, none
        case notice(Notice)
    }

    /// The languages that a device's locale names, in the order in which they are tried before the default one.
    private struct Languages {
        var exact: Int?
        var primary: Int?
    }

    private let templates: CompiledTemplates
    private var payload = ByteWriter(capacity: 16)
    private var fields = EmbeddedFields()
    private var type = OrderEventType.known(.orderCreated)
    /// By language, and within it by the kind of audience, the last of them for any.
    private var choices: [Choice]
    private static let kinds = Audience.allCases.count + 1
    private var text = ByteWriter(capacity: 16)
    /// The locale of the latest device: the next one often has the same.
    private var latest = ByteWriter(capacity: 16)
    private var latestLanguages = Languages()

    /// - Parameter templates: nil: no order's push is shown.
    init(_ templates: DisplayTemplates?) {
        self.templates = CompiledTemplates(templates)
        choices = Array(repeating: .unknown, count: self.templates.languages.count * Self.kinds)
    }

    /// Prepares an order's notification.
    mutating func begin(_ type: OrderEventType, payload bytes: UnsafeRawBufferPointer) -> Reach {
        guard templates.types.contains(type) else { return .nobody }
        self.type = type
        payload.removeAll()
        payload.append(bytes)
        fields.find(in: payload.bytes)
        text.removeAll()
        for choice in choices.indices { choices[choice] = .unknown }
        return notice(in: templates.defaultLanguage, nil) == nil ? .some : .everybody
    }

    /// What a device of this locale shows that was found by this audience; nil if nothing.
    mutating func notice(for locale: UnsafeRawBufferPointer, audience: UnsafeRawBufferPointer) -> Notice? {
        let languages = languages(of: locale)
        let kind = templates.hasKinds ? Audience.allCases.first { $0.id(of: audience) != nil } : nil
        if let exact = languages.exact, let notice = notice(in: exact, kind) { return notice }
        if let primary = languages.primary, let notice = notice(in: primary, kind) { return notice }
        return notice(in: templates.defaultLanguage, kind)
    }

    /// Valid until the next change.
    func bytes(of notice: Notice) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: text.bytes[notice.range])
    }

    private mutating func notice(in language: Int, _ kind: Audience?) -> Notice? {
        let choice = language * Self.kinds + (kind.map { Int($0.rawValue) } ?? Self.kinds - 1)
        switch choices[choice] {
        case .none: return nil
        case .notice(let notice): return notice
        case .unknown:
            let status = UnsafeRawBufferPointer(rebasing: payload.bytes[fields[.newStatus]])
            guard let entry = templates.entry(in: language, for: type, status: status, kind: kind) else {
                choices[choice] = .none
                return nil
            }
            let notice = write(entry)
            choices[choice] = .notice(notice)
            return notice
        }
    }

    private mutating func write(_ entry: CompiledTemplates.Entry) -> Notice {
        let start = text.count
        var size = 0
        text.append(#"{"title":""#)
        for part in entry.title { size += write(templates.parts[part]) }
        text.append(#"","body":""#)
        for part in entry.body { size += write(templates.parts[part]) }
        text.append(#""}"#)
        return Notice(range: start..<text.count, size: size)
    }

    /// - Returns: the bytes of the text itself.
    private mutating func write(_ part: CompiledTemplates.Part) -> Int {
        switch part {
        case .fixed(let range, let size):
            text.append(templates.bytes(range))
            return size
        case .field(let field):
            return text.append(unembedding: UnsafeRawBufferPointer(rebasing: payload.bytes[fields[field]]))
        case .added(let name):
            let value = fields.value(of: templates.bytes(name), in: payload.bytes)
            return text.append(unembedding: UnsafeRawBufferPointer(rebasing: payload.bytes[value]))
        }
    }

    private mutating func languages(of locale: UnsafeRawBufferPointer) -> Languages {
        if sameBytes(locale, latest.bytes) { return latestLanguages }
        latest.removeAll()
        latest.append(locale)
        latestLanguages.exact = templates.language(named: locale)
        let hyphen = UInt8(ascii: "-")
        let end = locale.firstIndex { LanguageTag.normal($0) == hyphen }
        latestLanguages.primary = end.flatMap {
            templates.language(named: UnsafeRawBufferPointer(rebasing: locale[..<$0]))
        }
        return latestLanguages
    }
}
