import JSONReader
import NotificationPayload

/// Why templates cannot be used: every problem at once, each with its path in the file.
public struct InvalidDisplayTemplates: Error, Equatable {
    public let problems: [String]
}

extension DisplayTemplates {
    /// Reads `{"default":"en","languages":{"en":{"order_created":{"title":"Order {visible_id}","body":"New"}}}}`
    /// (docs/rules.md §7.1).
    public init(json: [UInt8]) throws(InvalidDisplayTemplates) {
        var reader = JSONReader()
        let parsed = json.withUnsafeBytes { bytes in
            Result { () throws(JSONError) in try reader.parse(bytes) }
        }
        var parsing = DisplayTemplatesParsing()
        switch parsed {
        case .failure: parsing.problems.append("it is no JSON")
        case .success(let value): parsing.read(value)
        }
        guard parsing.problems.isEmpty, let defaultLanguage = parsing.defaultLanguage else {
            throw InvalidDisplayTemplates(problems: parsing.problems)
        }
        let languages = parsing.languages.sorted { $0.name < $1.name }
        self.init(
            languages: languages,
            defaultLanguage: languages.firstIndex { $0.name == defaultLanguage } ?? 0)
    }
}

/// Collects the texts of a file, and what is wrong with it.
private struct DisplayTemplatesParsing {
    var languages: [DisplayTemplates.Language] = []
    /// Its name in the normal form.
    var defaultLanguage: String?
    var problems: [String] = []

    mutating func read(_ value: JSONValue) {
        guard value.isObject else {
            problems.append("it is no object")
            return
        }
        let root = members(of: value, at: "", allowed: ["default", "languages"])
        guard let all = root["languages"] else { return }
        guard all.isObject else {
            problems.append("languages is no object")
            return
        }
        var members = all.members
        while let (name, value) = members.next() { readLanguage(name, value) }
        guard let chosen = root["default"] else { return }
        guard let name = chosen.string else {
            problems.append("default is no string")
            return
        }
        let normal = normal(name)
        guard languages.contains(where: { $0.name == normal }) else {
            problems.append("default is '\(text(name))', which is not among the languages")
            return
        }
        defaultLanguage = normal
    }

    private mutating func readLanguage(_ name: JSONText, _ value: JSONValue) {
        let path = "languages.\(text(name))"
        if !LanguageTag.isTag(name.bytes) { problems.append("\(path) is no language tag, such as de or de-AT") }
        let normal = normal(name)
        if languages.contains(where: { $0.name == normal }) { problems.append("\(path) is there twice") }
        guard value.isObject else {
            problems.append("\(path) is no object")
            return
        }
        var texts: [DisplayTemplates.Text] = []
        var members = value.members
        while let (key, value) = members.next() {
            let path = "\(path).\(text(key))"
            let kind = kind(key)
            if kind == nil { problems.append("\(path) is no event type; allowed are \(Self.allowedKeys)") }
            guard value.isObject else {
                problems.append("\(path) is no object")
                continue
            }
            let parts = self.members(of: value, at: path, allowed: ["title", "body"])
            let title = template(parts["title"], at: "\(path).title")
            let body = template(parts["body"], at: "\(path).body")
            guard let kind else { continue }
            let isKnown = texts.contains {
                $0.type == kind.type && ($0.status == nil) == (kind.status == nil)
                    && ($0.status ?? "").utf8.elementsEqual((kind.status ?? "").utf8)
            }
            if isKnown { problems.append("\(path) is there twice") }
            guard let title, let body else { continue }
            texts.append(.init(type: kind.type, status: kind.status, title: title, body: body))
        }
        languages.append(.init(name: normal, texts: texts))
    }

    /// The members of an object, all of which are required. What is missing, twice or unknown is a problem.
    private mutating func members(of value: JSONValue, at path: String, allowed: [String]) -> [String: JSONValue] {
        let holder = path.isEmpty ? "it" : path
        var found: [String: JSONValue] = [:]
        var members = value.members
        while let (name, value) = members.next() {
            let name = text(name)
            if !allowed.contains(name) {
                problems.append("\(holder) has '\(name)', which is neither \(allowed.joined(separator: " nor "))")
            } else if found.updateValue(value, forKey: name) != nil {
                problems.append("\(holder) has '\(name)' twice")
            }
        }
        for name in allowed where found[name] == nil {
            problems.append("\(path.isEmpty ? name : "\(path).\(name)") is missing")
        }
        return found
    }

    private mutating func template(_ value: JSONValue?, at path: String) -> DisplayTemplates.Template? {
        guard let value else { return nil }
        guard let string = value.string else {
            problems.append("\(path) is no string")
            return nil
        }
        let parsed = TemplateParsing(Array(string.bytes))
        problems += parsed.problems.map { "\(path) has \($0)" }
        return DisplayTemplates.Template(text: text(string), parts: parsed.parts)
    }

    private func kind(_ key: JSONText) -> (type: EventType, status: String?)? {
        let parts = key.bytes.split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard let name = parts.first, let type = EventType(rawValue: "event_\(name)") else { return nil }
        guard parts.count == 2 else { return (type, nil) }
        guard !parts[1].isEmpty else { return nil }
        switch type {
        case .orderStatusChanged: return (type, parts[1])
        case .orderCreated, .timeslotStarted, .unpickedOrdersReminder, .orderIDsListed: return nil
        }
    }

    private static let allowedKeys =
        EventType.allCases.map { String($0.rawValue.dropFirst("event_".count)) }.joined(separator: ", ")
        + " and order_status_changed/ with a status"

    private func normal(_ name: JSONText) -> String {
        String(decoding: name.bytes.map(LanguageTag.normal), as: UTF8.self)
    }

    private func text(_ text: JSONText) -> String { String(decoding: text.bytes, as: UTF8.self) }
}

/// Splits a title or a body into what is fixed and what the payload's members replace.
private struct TemplateParsing {
    private(set) var parts: [DisplayTemplates.Template.Part] = []
    private(set) var problems: [String] = []
    private var fixed: [UInt8] = []

    init(_ text: [UInt8]) {
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
        guard let field = OrderField(rawValue: name) else {
            let allowed = OrderField.allCases.map(\.rawValue).joined(separator: ", ")
            problems.append("'{\(name)}', which is no member of the payload; allowed are \(allowed)")
            return
        }
        endFixed()
        parts.append(.field(field))
    }

    private mutating func endFixed() {
        guard !fixed.isEmpty else { return }
        parts.append(.fixed(String(decoding: fixed, as: UTF8.self)))
        fixed = []
    }
}
