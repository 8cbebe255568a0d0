import JSONReader

/// The names of the members of one kind of object of a request or a broadcast.
protocol RequestMemberName: MemberName {
    /// What the object is called in a sentence.
    static var holder: StaticString { get }
    /// What comes before the name of a member in a sentence.
    static var path: StaticString { get }
}

/// The names of an object that may be in an envelope.
protocol EnvelopedName: RequestMemberName {
    /// An object with one of these is the content itself, whatever it has beside them.
    static var contentNames: [Self] { get }
}

/// The members of an object that may have no others, found in one pass; if a name occurs twice, the last one counts.
struct RequestObject<Name: RequestMemberName, let nameCount: Int> {
    private let object: JSONValue?
    private var positions = InlineArray<nameCount, UInt32>(repeating: 0)
    /// Whether there is a member that the object must not have.
    private var hasUnknown = false

    /// A value that is not an object has no members.
    init(_ object: JSONValue?) {
        self.object = object
        guard var cursor = object?.members else { return }
        let table = Name.table
        while let (name, value) = cursor.next() {
            let index = table.index(of: name)
            if let index {
                positions[index] = value.position
            }
            if index ?? nameCount >= table.ownCount { hasUnknown = true }
        }
    }

    /// The value as it is, null included.
    subscript(name: Name) -> JSONValue? { value(at: NameTable.index(of: name)) }

    private func value(at index: Int) -> JSONValue? {
        let position = positions[index]
        return position == 0 ? nil : object?.value(at: position)
    }

    /// The value; null and a blank string are absent (docs/rules.md §8.1).
    func present(_ name: Name) -> JSONValue? {
        guard let value = self[name], !value.isNull else { return nil }
        if let text = value.string, text.bytes.trimmed.isEmpty { return nil }
        return value
    }

    /// Refuses every other member than the named ones.
    func refuseUnknownMembers(_ findings: RequestFindings?) throws(RequestFinding) {
        try refuseUnknownMembers(
            findings, of: "\(Name.holder)", at: Self.pointer, allowed: Name.allCases.map(\.rawValue))
    }

    /// - Parameters:
    ///   - holder: as a sentence names the object.
    ///   - pointer: to the object.
    ///   - allowed: the names that it may have.
    func refuseUnknownMembers(
        _ findings: RequestFindings?, of holder: @autoclosure () -> String, at pointer: @autoclosure () -> String,
        allowed: @autoclosure () -> [String]
    ) throws(RequestFinding) {
        guard hasUnknown, var cursor = object?.members else { return }
        let table = Name.table
        while let (name, _) = cursor.next() {
            if table.index(of: name) ?? nameCount >= table.ownCount {
                try findings.refuse(
                    RequestFinding(
                        .unknownMember(name.bytes, of: holder(), allowed: allowed()),
                        at: "\(pointer())/\(RequestFinding.escape(String(name)))"))
            }
        }
    }

    /// A JSON pointer to the object.
    private static var pointer: String {
        let path = "\(Name.path)"
        return path.isEmpty ? "" : "/" + path.dropLast()
    }

    /// A JSON pointer to a member.
    static func pointer(_ name: Name) -> String { "\(pointer)/\(name.rawValue)" }

    func wrong(_ name: Name, _ expected: RequestValue) -> RequestFinding {
        RequestFinding(.badRequest("\(Name.path)\(name.rawValue)", self[name], expected), at: Self.pointer(name))
    }

    /// A string as it is, not trimmed.
    func string(_ name: Name) throws(RequestFinding) -> UnsafeRawBufferPointer? {
        guard let value = present(name) else { return nil }
        guard let text = value.string else { throw wrong(name, .string) }
        return text.bytes
    }

    func requiredString(_ name: Name) throws(RequestFinding) -> UnsafeRawBufferPointer {
        guard let text = present(name)?.string else { throw wrong(name, .requiredString) }
        return text.bytes
    }

    func time(_ name: Name) throws(RequestFinding) -> WallTime? {
        guard let value = present(name) else { return nil }
        guard let time = WallTime(value) else { throw wrong(name, .time) }
        return time
    }

    func object(_ name: Name) throws(RequestFinding) -> JSONValue? {
        guard let value = present(name) else { return nil }
        guard value.isObject else { throw wrong(name, .object) }
        return value
    }

    func flag(_ name: Name) throws(RequestFinding) -> Bool? {
        guard let value = present(name) else { return nil }
        guard let flag = value.boolean else { throw wrong(name, .flag) }
        return flag
    }

    /// A list of strings that is not empty.
    func strings(_ name: Name, _ findings: RequestFindings?) throws(RequestFinding) -> JSONValue? {
        guard let value = present(name) else { return nil }
        guard value.isArray else { throw wrong(name, .strings) }
        var elements = value.elements
        var count = 0
        while let element = elements.next() {
            if !element.isString {
                try findings.refuse(
                    RequestFinding(
                        .badRequest("\(Name.path)\(name.rawValue)[\(count)]", element, .string),
                        at: "\(Self.pointer(name))/\(count)"))
            }
            count += 1
        }
        return count == 0 ? nil : value
    }
}

extension JSONValue {
    /// How many elements an array has.
    var elementCount: Int {
        var elements = elements
        var count = 0
        while elements.next() != nil { count += 1 }
        return count
    }
}

extension RequestObject: EnvelopeBody where Name: EnvelopedName {
    var isEvent: Bool { Name.contentNames.contains { self[$0] != nil } }

    subscript(member: EnvelopeMember) -> JSONValue? { value(at: Name.table.index(of: member)) }
}
