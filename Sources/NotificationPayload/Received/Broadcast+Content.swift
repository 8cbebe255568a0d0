extension Broadcast {
    /// What a broadcast is for (document 4, "Payload for display messages", "Payload for non-display messages").
    public enum Content: Hashable, Sendable {
        /// To be shown to the user.
        case display(Display)
        /// For the app itself.
        case nonDisplay(NonDisplay)
    }

    /// A broadcast that is to be shown, in one or several languages.
    public struct Display: Hashable, Sendable {
        /// Document 4's `notificationtype`; what it does not list is ``others``.
        public enum Kind: String, CaseIterable, Sendable {
            case general, festive, downtime, others
        }

        public var kind: Kind
        /// Whether the user can dismiss it.
        public var isCancellable: Bool
        /// The URL of an image.
        public var poster: String?
        /// Each language once, the preferred one first; not empty in what Carillon sends.
        public var texts: [Text]

        public init(kind: Kind, isCancellable: Bool, poster: String? = nil, texts: [Text]) {
            self.kind = kind
            self.isCancellable = isCancellable
            self.poster = poster
            self.texts = texts
        }

        /// The text for a locale such as `de-AT`: that of its language, otherwise that of the part before its first `-`
        /// or `_`, otherwise the first. Case, and `-` or `_`, make no difference.
        public func text(for locale: String) -> Text? {
            texts.isEmpty ? nil : texts[LanguageTag.choice(for: locale.utf8, among: texts.map(\.language))]
        }
    }

    /// A title and a message in one language.
    public struct Text: Hashable, Sendable {
        /// A tag such as `en` or `pt-BR`.
        public var language: String
        public var title: String
        public var message: String

        public init(language: String, title: String, message: String) {
            self.language = language
            self.title = title
            self.message = message
        }
    }

    /// A broadcast that changes what the app does.
    public struct NonDisplay: Hashable, Sendable {
        /// Document 4's `notificationtype`.
        public enum Kind: String, CaseIterable, Sendable {
            case enableFeature = "enable-feature"
            case disableFeature = "disable-feature"
        }

        public var kind: Kind
        /// Free text: document 4's `data`.
        public var data: String?

        public init(kind: Kind, data: String? = nil) {
            self.kind = kind
            self.data = data
        }
    }

    /// Until when a broadcast is worth showing (document 4, `expiry`).
    public enum Expiry: Hashable, Sendable {
        /// In milliseconds from when it was published: `34646millis`.
        case lifetime(milliseconds: Int64)
        /// In milliseconds since 1970.
        case instant(milliseconds: Int64)
    }
}
