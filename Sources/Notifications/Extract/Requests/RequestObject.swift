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
    /// The name of the first member that the object must not have.
    private(set) var unknown: JSONText?

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
            if unknown == nil, index ?? nameCount >= table.ownCount {
                unknown = name
            }
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

    /// - Throws: if there is another member than the named ones.
    func refuseUnknownMembers() throws(DeadLetter) {
        guard let unknown else { return }
        throw .unknownMember(unknown.bytes, of: "\(Name.holder)", allowed: Name.allCases.map(\.rawValue))
    }

    func wrong(_ name: Name, _ expected: RequestValue) -> DeadLetter {
        .badRequest("\(Name.path)\(name.rawValue)", self[name], expected)
    }

    /// A string as it is, not trimmed.
    func string(_ name: Name) throws(DeadLetter) -> UnsafeRawBufferPointer? {
        guard let value = present(name) else { return nil }
        guard let text = value.string else { throw wrong(name, .string) }
        return text.bytes
    }

    func requiredString(_ name: Name) throws(DeadLetter) -> UnsafeRawBufferPointer {
        guard let text = present(name)?.string else { throw wrong(name, .requiredString) }
        return text.bytes
    }

    func time(_ name: Name) throws(DeadLetter) -> WallTime? {
        guard let value = present(name) else { return nil }
        guard let time = WallTime(value) else { throw wrong(name, .time) }
        return time
    }

    func object(_ name: Name) throws(DeadLetter) -> JSONValue? {
        guard let value = present(name) else { return nil }
        guard value.isObject else { throw wrong(name, .object) }
        return value
    }

    func flag(_ name: Name) throws(DeadLetter) -> Bool? {
        guard let value = present(name) else { return nil }
        guard let flag = value.boolean else { throw wrong(name, .flag) }
        return flag
    }

    /// A list of strings that is not empty.
    func strings(_ name: Name) throws(DeadLetter) -> JSONValue? {
        guard let value = present(name) else { return nil }
        guard value.isArray else { throw wrong(name, .strings) }
        var elements = value.elements
        var count = 0
        while let element = elements.next() {
            guard element.isString else {
                throw .badRequest("\(Name.path)\(name.rawValue)[\(count)]", element, .string)
            }
            count += 1
        }
        return count == 0 ? nil : value
    }
}

extension RequestObject: EnvelopeBody where Name: EnvelopedName {
    var isEvent: Bool { Name.contentNames.contains { self[$0] != nil } }

    subscript(member: EnvelopeMember) -> JSONValue? { value(at: Name.table.index(of: member)) }
}
