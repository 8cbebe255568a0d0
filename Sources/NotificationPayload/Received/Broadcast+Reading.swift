extension Broadcast {
    /// What it means, read from ``data``. Nil if ``actionType`` is neither of document 4's, or if the type of a non-display
    /// broadcast is unknown: an app that does not know what to do does nothing.
    public var content: Content? {
        switch actionType {
        case "display": .display(display)
        case "non-display": nonDisplay.map(Content.nonDisplay)
        default: nil
        }
    }

    /// The channel that the sender named; nil if it named none in document 4's way.
    public var channel: String? { data["channel"] }

    /// Nil if there is none, or if it cannot be read.
    public var expiry: Expiry? { data["expiry"].flatMap(Expiry.init) }

    /// In milliseconds since 1970; nil if the sender does not say it.
    public var publishedAt: Int64? { data["published_at"].flatMap { Expiry.number($0.utf8) } }

    /// From then on it is not worth showing, in milliseconds since 1970. Nil if that cannot be known.
    public var expiresAt: Int64? {
        switch expiry {
        case .instant(let milliseconds): milliseconds
        case .lifetime(let milliseconds): publishedAt.map { $0 + milliseconds }
        case nil: nil
        }
    }

    private var display: Display {
        Display(
            kind: data["notificationtype"].flatMap(Display.Kind.init) ?? .others,
            isCancellable: data["type"] != "non-cancellable", poster: data["poster"], texts: texts)
    }

    private var nonDisplay: NonDisplay? {
        data["notificationtype"].flatMap(NonDisplay.Kind.init).map { NonDisplay(kind: $0, data: data["data"]) }
    }

    /// Those of `fields` that have a language, a title and a message.
    private var texts: [Text] {
        let fields = data["fields"].flatMap { PushValue(json: $0) }?.array ?? []
        return fields.compactMap { field in
            guard let language = field["language"]?.nonEmpty, let title = field["title"]?.string,
                let message = field["msg"]?.string
            else { return nil }
            return Text(language: language, title: title, message: message)
        }
    }
}
