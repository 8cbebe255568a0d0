import JSONReader
import NotificationPayload

extension DisplayTemplates {
    /// Reads `{"default":"en","languages":{"en":{"order_created":{"title":"Order {visible_id}","body":"New"}}}}`
    /// (docs/rules.md §7.1).
    ///
    /// - Parameter own: the event types that the settings declare, and the fields that each adds to the payload.
    public init(json: [UInt8], own: [(type: OwnEventType, members: [String])] = []) throws(InvalidForm) {
        let types = [KnownType].document1 + own.map { KnownType(type: .own($0.type), added: $0.members) }
        self = try Form.read(json) { value, file in file.object(value, as: "it") { DisplayTemplates(&$0, types) } }
    }

    private init?(_ form: inout Form, _ types: [KnownType]) {
        form.only("default", "languages")
        guard let all = form["languages"] else {
            form.problem("needs languages, an object")
            return nil
        }
        let languages = form.object(all, as: "languages") { form in
            var languages: [Language] = []
            for (tag, value) in form.members {
                let name = Self.normal(tag)
                if !LanguageTag.isTag(tag.utf8) { form.problem("is no language tag, such as de or de-AT", of: tag) }
                if languages.contains(where: { $0.name == name }) { form.problem("is there twice", of: tag) }
                let language = form.object(value, as: form.path(of: tag)) { form in
                    Language(name: name, texts: Text.list(&form, types))
                }
                if let language { languages.append(language) }
            }
            return languages.sorted { $0.name < $1.name }
        }
        guard let languages, let tag = form.text("default") else { return nil }
        guard let position = languages.firstIndex(where: { $0.name == Self.normal(tag) }) else {
            form.problem("has the default '\(tag)', which is not among the languages")
            return nil
        }
        self.init(languages: languages, defaultLanguage: position)
    }

    private static func normal(_ tag: String) -> String {
        String(decoding: tag.utf8.map(LanguageTag.normal), as: UTF8.self)
    }
}

extension DisplayTemplates.Text {
    /// The texts of a language.
    fileprivate static func list(_ form: inout Form, _ types: [KnownType]) -> [Self] {
        var texts: [Self] = []
        for (key, value) in form.members {
            let kind = kind(key, types)
            if kind == nil { form.problem("is no event type; allowed are \(allowedKeys(types))", of: key) }
            let text = form.object(value, as: form.path(of: key)) { form -> Self? in
                form.only("title", "body")
                let title = DisplayTemplates.Template("title", &form, added: kind?.type.added ?? [])
                let body = DisplayTemplates.Template("body", &form, added: kind?.type.added ?? [])
                guard let kind, let title, let body else { return nil }
                // Statuses are compared byte by byte.
                let isKnown = texts.contains {
                    $0.type == kind.type.type && $0.kind == kind.kind && ($0.status == nil) == (kind.status == nil)
                        && ($0.status ?? "").utf8.elementsEqual((kind.status ?? "").utf8)
                }
                if isKnown { form.problem("is there twice") }
                return Self(type: kind.type.type, status: kind.status, kind: kind.kind, title: title, body: body)
            }
            if let text { texts.append(text) }
        }
        return texts
    }

    private static func kind(
        _ key: String, _ types: [KnownType]
    ) -> (type: KnownType, status: String?, kind: Audience?)? {
        let kind = Audience.allCases.first { key.hasSuffix("@\($0.name)") }
        let key = kind.map { String(key.dropLast($0.name.count + 1)) } ?? key
        let parts = key.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
        guard let name = parts.first, let type = types.first(where: { $0.name == name }) else { return nil }
        guard parts.count == 2 else { return (type, nil, kind) }
        guard !parts[1].isEmpty else { return nil }
        switch type.type {
        case .known(.orderStatusChanged): return (type, parts[1], kind)
        case .known(.orderCreated), .known(.timeslotStarted), .known(.unpickedOrdersReminder), .known(.orderIDsListed),
            .own:
            return nil
        }
    }

    private static func allowedKeys(_ types: [KnownType]) -> String {
        types.map(\.name).joined(separator: ", ")
            + " and order_status_changed/ with a status, each also with @place, @user, @channel or @device"
    }
}

/// A type that a key may name.
private struct KnownType {
    let type: OrderEventType
    /// The fields that it adds to the payload.
    let added: [String]

    /// Without `event_`.
    var name: String { String(type.rawValue.dropFirst("event_".count)) }
}

extension [KnownType] {
    fileprivate static var document1: Self { EventType.allCases.map { KnownType(type: .known($0), added: []) } }
}

extension DisplayTemplates.Template {
    /// - Parameter added: the fields that the type of event adds to the payload.
    fileprivate init?(_ member: String, _ form: inout Form, added: [String]) {
        guard let text = form.text(member, mayBeEmpty: true) else { return nil }
        let parsed = TemplateParsing(Array(text.utf8), added: added)
        for problem in parsed.problems { form.problem("has \(problem)", of: member) }
        self.init(text: text, parts: parsed.parts)
    }
}

/// Splits a title or a body into what is fixed and what the payload's members replace.
private struct TemplateParsing {
    private(set) var parts: [DisplayTemplates.Template.Part] = []
    private(set) var problems: [String] = []
    private var fixed: [UInt8] = []
    private let added: [String]

    init(_ text: [UInt8], added: [String]) {
        self.added = added
        var rest = text[...]
        while let byte = rest.first {
            switch byte {
            case UInt8(ascii: "{"):
                let name = rest.dropFirst().prefix { !Self.braces.contains($0) }
                rest = rest[name.endIndex...]
                guard rest.first == UInt8(ascii: "}") else {
                    problems.append("a { without its }")
                    continue
                }
                rest = rest.dropFirst()
                add(String(decoding: name, as: UTF8.self))
            case UInt8(ascii: "}"):
                problems.append("a } without its {")
                rest = rest.dropFirst()
            default:
                fixed.append(byte)
                rest = rest.dropFirst()
            }
        }
        endFixed()
    }

    private static let braces = Array("{}".utf8)

    private mutating func add(_ name: String) {
        let field: DisplayTemplates.Template.Part? =
            OrderField(rawValue: name).map { .field($0) } ?? (added.contains(name) ? .added(name) : nil)
        guard let field else {
            let allowed = (OrderField.allCases.map(\.rawValue) + added).joined(separator: ", ")
            problems.append("'{\(name)}', which is no member of the payload; allowed are \(allowed)")
            return
        }
        endFixed()
        parts.append(field)
    }

    private mutating func endFixed() {
        guard !fixed.isEmpty else { return }
        parts.append(.fixed(String(decoding: fixed, as: UTF8.self)))
        fixed = []
    }
}
