import NotificationPayload

/// Templates as bytes, so that a text is chosen and written without making a string. Never changes.
struct CompiledTemplates: ~Copyable {
    enum Part {
        /// The inside of a JSON string, and the bytes of the text before it is escaped.
        case fixed(TextRange, size: Int)
        case field(OrderField)
        /// The name of a field that an event type of the settings adds.
        case added(TextRange)
    }

    struct Entry {
        fileprivate let type: OrderEventType
        /// As in a payload; nil for any.
        fileprivate let status: TextRange?
        /// Nil for any.
        fileprivate let kind: Audience?
        /// Positions in ``parts``.
        let title: Range<Int>
        let body: Range<Int>
    }

    struct Language {
        fileprivate let name: TextRange
        fileprivate let entries: Range<Int>
    }

    private var text = ByteWriter(capacity: 16)
    private var entries: [Entry] = []
    private(set) var parts: [Part] = []
    private(set) var languages: [Language] = []
    let defaultLanguage: Int
    /// The types that have a text in some language.
    let types: [OrderEventType]
    /// Whether some text is for one kind of audience.
    let hasKinds: Bool

    init(_ templates: DisplayTemplates?) {
        defaultLanguage = templates?.defaultLanguage ?? 0
        let languages = templates?.languages ?? []
        var types: [OrderEventType] = []
        for text in languages.flatMap(\.texts) where !types.contains(text.type) { types.append(text.type) }
        self.types = types
        hasKinds = languages.contains { $0.texts.contains { $0.kind != nil } }
        for language in languages {
            let first = entries.count
            // Those of one kind of audience are tried before those of any, and of either those with a status first.
            for isOfKind in [true, false] {
                for text in language.texts where (text.kind != nil) == isOfKind && text.status != nil { append(text) }
                for text in language.texts where (text.kind != nil) == isOfKind && text.status == nil { append(text) }
            }
            let name = append(language.name, escaping: 0)
            self.languages.append(Language(name: name, entries: first..<entries.count))
        }
    }

    func bytes(_ range: TextRange) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: text.bytes[range.range])
    }

    /// The language of this tag; case, and `-` or `_`, make no difference.
    func language(named tag: UnsafeRawBufferPointer) -> Int? {
        languages.firstIndex { language in
            language.name.count == tag.count
                && tag.elementsEqual(bytes(language.name)) { LanguageTag.normal($0) == $1 }
        }
    }

    /// - Parameters:
    ///   - status: the payload's new status, embedded as it is there.
    ///   - kind: of the device's audience; nil: only a text for any.
    func entry(in language: Int, for type: OrderEventType, status: UnsafeRawBufferPointer, kind: Audience?) -> Entry? {
        for index in languages[language].entries where entries[index].type == type {
            if let own = entries[index].kind, own != kind { continue }
            guard let own = entries[index].status else { return entries[index] }
            if sameBytes(bytes(own), status) { return entries[index] }
        }
        return nil
    }

    private mutating func append(_ text: DisplayTemplates.Text) {
        let status = text.status.map { append($0, escaping: 2) }
        let title = append(text.title)
        let body = append(text.body)
        entries.append(Entry(type: text.type, status: status, kind: text.kind, title: title, body: body))
    }

    private mutating func append(_ template: DisplayTemplates.Template) -> Range<Int> {
        let first = parts.count
        for part in template.parts {
            switch part {
            case .fixed(let string): parts.append(.fixed(append(string, escaping: 1), size: string.utf8.count))
            case .field(let field): parts.append(.field(field))
            case .added(let name): parts.append(.added(append(name, escaping: 0)))
            }
        }
        return first..<parts.count
    }

    /// - Parameter times: 1 for the inside of a JSON string, 2 for that of a string within one.
    private mutating func append(_ string: String, escaping times: Int) -> TextRange {
        var bytes = Array(string.utf8)
        for _ in 0..<times {
            var escaped = ByteWriter(capacity: bytes.count)
            bytes.withUnsafeBytes { escaped.appendEscaped($0) }
            bytes = Array(escaped.bytes)
        }
        let start = text.count
        bytes.withUnsafeBytes { text.append($0) }
        return TextRange(start: start, count: bytes.count)
    }
}
