import JSONReader

/// What a member may be: the value of its known name, then those of its mapped ones, in their order (docs/rules.md §5.6).
struct MemberValues {
    private var known: JSONValue?
    private let object: JSONValue?
    private let mapped: MappedMembers?
    private var rest: Range<Int>
    /// The path of the value that was returned last; nil for the known name.
    private var path: Int?

    @inline(__always)
    init<Member: CaseIterable>(
        of member: Member, known: JSONValue?, in object: JSONValue?, _ mapped: MappedMembers?
    ) {
        self.known = known
        self.object = object
        self.mapped = mapped
        rest = mapped?.range(of: member) ?? 0..<0
    }

    @inline(__always)
    mutating func next() -> JSONValue? {
        if let value = known {
            known = nil
            return value
        }
        return rest.isEmpty ? nil : nextMapped()
    }

    private mutating func nextMapped() -> JSONValue? {
        guard let mapped, let object else { return nil }
        while let path = rest.popFirst() {
            if let value = mapped.value(of: path, in: object) {
                self.path = path
                return value
            }
        }
        return nil
    }

    /// The first one that can be read: what is invalid is absent (docs/rules.md §5.2).
    @inline(__always)
    func firstValid<Content>(_ read: (JSONValue) -> Content?) -> Content? {
        var values = self
        while let value = values.next() {
            guard let content = read(value) else { continue }
            if let path = values.path { mapped?.noteTaken(path) }
            return content
        }
        return nil
    }

    /// The first object or list; if there is none, the first value but null.
    func container(where isRight: (JSONValue) -> Bool) -> JSONValue? {
        firstValid { isRight($0) ? $0 : nil } ?? firstValid { $0.isNull ? nil : $0 }
    }
}

extension Members where Name == EventMember {
    func values(of member: EventMember) -> MemberValues {
        MemberValues(of: member, known: self[member], in: object, mapped)
    }

    /// The order of the event; nil without one, and for null.
    var order: JSONValue? { values(of: .order).container(where: \.isObject) }
}

extension Members where Name == OrderMember {
    /// - Parameter known: the value of the known path.
    func values(of field: OrderValue, known: JSONValue?) -> MemberValues {
        MemberValues(of: field, known: known, in: object, mapped)
    }
}

extension TextArena {
    /// The first text.
    mutating func text(_ values: MemberValues) -> UnsafeRawBufferPointer? { values.firstValid { text($0) } }
}
