import JSONReader
import NotificationPayload

extension EventTypes {
    /// Reads `{"order_delayed":{"names":["ORDER_DELAYED"],"state":"kept","members":["delay_minutes"]}}`
    /// (docs/rules.md §5.7); all members of a type are optional.
    public init(json: [UInt8]) throws(InvalidForm) {
        let declared = try Form.read(json) { value, file in
            file.object(value, as: "it") { file -> [Declared] in
                let types = file.members.sorted { $0.name < $1.name }
                if types.count > Self.maxTypes {
                    file.problem("has \(types.count) types; at most \(Self.maxTypes) are allowed")
                }
                let names = types.map(\.name)
                for (name, next) in zip(names, names.dropFirst()) where name == next {
                    file.problem("has '\(name)' twice")
                }
                var declared: [Declared] = []
                for (position, type) in types.enumerated() {
                    let one = file.object(type.value, as: type.name.isEmpty ? "a type" : type.name) { form in
                        Declared(type.name, at: position, &form)
                    }
                    if let one { declared.append(one) }
                }
                for (position, type) in declared.enumerated() {
                    for other in declared[..<position] {
                        for name in type.names where other.names.contains(name) {
                            file.problem("has the name '\(name)' of both \(other.name) and \(type.name)")
                        }
                    }
                }
                return declared
            }
        }
        self.init(declared)
    }
}

extension EventTypes.Declared {
    private static let maxNameCount = 64
    private static let maxUpstreamCount = 200

    fileprivate init(_ name: String, at position: Int, _ form: inout Form) {
        form.only("names", "order", "state", "members", "audiences")
        let isName = (1...Self.maxNameCount).contains(name.utf8.count) && name.utf8.allSatisfy(EventType.isNameByte)
        if !isName {
            form.problem("must have 1 to \(Self.maxNameCount) lower-case letters, digits and _ as its name")
        }
        type = OwnEventType(
            name, at: position, order: form.choice("order") ?? .required, state: form.choice("state") ?? .unchanged)
        names = Self.names(&form, orElse: isName ? [name] : [])
        members = EventTypes.AddedMember.list(&form)
        audiences = form["audiences"] == nil ? nil : Self.audiences(&form)
    }

    private static func names(_ form: inout Form, orElse own: [String]) -> [String] {
        let texts = form["names"] == nil ? own : form.texts("names")
        if texts.count > EventTypes.maxNames {
            form.problem("has \(texts.count) names; at most \(EventTypes.maxNames) are allowed")
        }
        var names: [String] = []
        for text in texts {
            let name = EventType.comparable(text)
            let isAllowed =
                !name.isEmpty && text.utf8.count <= maxUpstreamCount
                && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            if !isAllowed {
                form.problem(
                    "has the name '\(text)'; allowed are 1 to \(maxUpstreamCount) ASCII characters without spaces")
            } else if let known = EventType(rawValue: "event_\(name)") {
                form.problem("has the name '\(text)', which is that of \(known.rawValue)")
            } else if names.contains(name) {
                form.problem("has the name '\(text)' twice")
            }
            names.append(name)
        }
        return names
    }

    private static func audiences(_ form: inout Form) -> [AudienceTemplate] {
        var templates: [AudienceTemplate] = []
        for text in form.texts("audiences") {
            do throws(InvalidForm) {
                let template = try AudienceTemplate(text)
                if templates.contains(template) { form.problem("has the audience '\(text)' twice") }
                templates.append(template)
            } catch {
                for problem in error.problems { form.problem("has the audience \(problem)") }
            }
        }
        return templates
    }
}

extension EventTypes.AddedMember {
    private static let maxNameCount = 64

    fileprivate static func list(_ form: inout Form) -> [Self] {
        let texts = form.texts("members", mayBeEmpty: true)
        if texts.count > EventTypes.maxMembers {
            form.problem("has \(texts.count) members; at most \(EventTypes.maxMembers) are allowed")
        }
        var members: [Self] = []
        for text in texts {
            let name = String(text.split(separator: ".", omittingEmptySubsequences: false).last ?? "")
            guard let path = try? MemberPath(text, of: text), !path.isList, name.utf8.count <= maxNameCount,
                name.utf8.allSatisfy({ EventType.isNameByte($0 | 0x20) || EventType.isNameByte($0) || $0 == 0x2D })
            else {
                form.problem(
                    "has the member '\(text)'; allowed are the names that lead to it with dots between, the last one of "
                        + "at most \(maxNameCount) letters, digits, _ and -")
                continue
            }
            if OrderField(rawValue: name) != nil {
                form.problem("has the member '\(text)', whose name \(name) is one of every payload")
            } else if members.contains(where: { $0.name == name }) {
                form.problem("has the member '\(text)', whose name \(name) another one has")
            }
            members.append(Self(text: text, path: path, name: name))
        }
        return members
    }
}

extension Form {
    /// An optional word.
    fileprivate mutating func choice<Value: RawRepresentable<String> & CaseIterable>(_ member: String) -> Value? {
        guard self[member] != nil, let text = text(member) else { return nil }
        return one(of: Value.self, text, member)
    }
}
