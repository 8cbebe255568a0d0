import NotificationPayload

/// The titles and bodies of order pushes, by language, event type and status (docs/rules.md §7.1).
public struct DisplayTemplates: Equatable, Sendable {
    /// A title or a body.
    struct Template: Equatable, Sendable {
        enum Part: Equatable, Sendable {
            case fixed(String)
            /// The payload's member, or nothing where the payload does not have it.
            case field(OrderField)
            /// One that an event type of the settings adds, or nothing where the payload does not have it.
            case added(String)
        }

        /// As in the file.
        let text: String
        let parts: [Part]
    }

    struct Text: Equatable, Sendable {
        let type: OrderEventType
        /// The new status that it is for; nil for any. Only ORDER_STATUS_CHANGED has one.
        let status: String?
        /// The kind of audience that it is for; nil for any.
        let kind: Audience?
        let title: Template
        let body: Template
    }

    struct Language: Equatable, Sendable {
        /// In lower case, with hyphens: `de-at`.
        let name: String
        let texts: [Text]
    }

    /// By name.
    let languages: [Language]
    /// The position among them of the one for devices whose own has no text.
    let defaultLanguage: Int

    init(languages: [Language], defaultLanguage: Int) {
        self.languages = languages
        self.defaultLanguage = defaultLanguage
    }

    /// Everything that decides what is sent, in an order that does not depend on the file's.
    package var description: [String] {
        var parts = ["display-default=\(languages[defaultLanguage].name)"]
        for language in languages {
            parts.append("display=\(language.name)")
            let texts = language.texts.map { text in
                let kind = text.kind.map { "@\($0.name)" } ?? ""
                return
                    "\(text.type.rawValue)/\(text.status ?? "")\(kind)\u{1E}\(text.title.text)\u{1E}\(text.body.text)"
            }
            parts += texts.sorted()
        }
        return parts
    }
}
