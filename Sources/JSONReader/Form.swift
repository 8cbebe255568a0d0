/// The problems of a file that cannot be used, all at once.
public struct InvalidForm: Error, Equatable {
    public let problems: [String]

    package init(problems: [String]) {
        self.problems = problems
    }
}

/// An object of a JSON file that a person writes. Each problem is noted and reading continues, so that all are reported
/// at once.
package struct Form {
    /// The object's name in sentences.
    package var name: String
    /// In the order of the file.
    package let members: [(name: String, value: JSONValue)]
    private var problems: [String] = []

    private init(_ name: String, _ value: JSONValue) {
        self.name = name
        var members: [(name: String, value: JSONValue)] = []
        var cursor = value.members
        while let (name, value) = cursor.next() { members.append((String(name), value)) }
        self.members = members
    }

    /// Reads a file. `body` gets its value, and a form that collects the problems.
    package static func read<Content>(
        _ json: [UInt8], _ body: (JSONValue, inout Form) -> Content?
    ) throws(InvalidForm) -> Content {
        var reader = JSONReader()
        let result = json.withUnsafeBytes { bytes -> Result<Content, InvalidForm> in
            guard let value = try? reader.parse(bytes) else { return .failure(.init(problems: ["it is no JSON"])) }
            var file = Form("it", value)
            guard let content = body(value, &file), file.problems.isEmpty else {
                return .failure(.init(problems: file.problems))
            }
            return .success(content)
        }
        return try result.get()
    }

    /// Reads this object or one inside it, and takes over its problems.
    package mutating func object<Content>(
        _ value: JSONValue, as name: String, _ body: (inout Form) -> Content?
    ) -> Content? {
        guard value.isObject else {
            problems.append("\(name) is no object")
            return nil
        }
        var form = Form(name, value)
        let content = body(&form)
        problems += form.problems
        return content
    }

    /// - Parameters:
    ///   - sentence: the sentence without its subject.
    ///   - member: the member that it is about; nil for the object itself.
    package mutating func problem(_ sentence: String, of member: String? = nil) {
        problems.append("\(member.map { path(of: $0) } ?? name) \(sentence)")
    }

    package func path(of member: String) -> String { "\(name).\(member)" }

    /// The value of a member; if it occurs twice, the last one.
    package subscript(member: String) -> JSONValue? { members.last { $0.name == member }?.value }

    /// Notes members other than these, and those that occur twice.
    package mutating func only(_ allowed: String...) {
        var seen: Set<String> = []
        for (member, _) in members {
            if !allowed.contains(member) {
                problem("has the member '\(member)'; allowed are \(allowed.joined(separator: ", "))")
            } else if !seen.insert(member).inserted {
                problem("has the member '\(member)' twice")
            }
        }
    }

    /// A required text.
    package mutating func text(_ member: String, mayBeEmpty: Bool = false) -> String? {
        if let text = self[member]?.string, mayBeEmpty || text.count > 0 { return String(text) }
        problem("needs \(member), a text\(mayBeEmpty ? "" : " that is not empty")")
        return nil
    }

    /// An optional list of texts; empty if it is missing.
    package mutating func texts(_ member: String, mayBeEmpty: Bool = false) -> [String] {
        guard let value = self[member] else { return [] }
        var texts: [String] = []
        var isWrong = !value.isArray
        var elements = value.elements
        while let element = elements.next() {
            if let text = element.string, text.count > 0 { texts.append(String(text)) } else { isWrong = true }
        }
        if isWrong || texts.isEmpty && !mayBeEmpty {
            problem("has \(member), which must be a list of texts that are not empty")
        }
        return texts
    }

    /// The value of a type with this text.
    ///
    /// - Parameter member: its name in the sentence.
    package mutating func one<Value: RawRepresentable<String> & CaseIterable>(
        of type: Value.Type, _ text: String, _ member: String
    ) -> Value? {
        if let value = Value(rawValue: text) { return value }
        let allowed = Value.allCases.map(\.rawValue).joined(separator: " and ")
        problem("has the \(member) '\(text)'; allowed are \(allowed)")
        return nil
    }
}
