import JSONReader

/// The names of the members to find in one kind of object.
protocol MemberName: RawRepresentable<String>, CaseIterable {
    static var table: NameTable { get }
}

/// The members of an object by name, found in one pass; if a name occurs twice, the last one counts.
///
/// Keeps positions instead of values, and only as many as there are names: a member takes four bytes to move instead of
/// sixteen.
struct Members<Name: MemberName, let nameCount: Int> {
    /// Nil if there is no object.
    let object: JSONValue?
    /// Where it has the names of the setting `events.members`; nil without any.
    let mapped: MappedMembers?
    private var positions = InlineArray<nameCount, UInt32>(repeating: 0)

    /// A value that is not an object has no members.
    init(_ object: JSONValue?, _ mapped: MappedMembers? = nil) {
        self.object = object
        self.mapped = mapped
        mapped?.clear()
        guard var cursor = object?.members else { return }
        let table = Name.table
        while let (name, value) = cursor.next() {
            if let index = table.index(of: name) {
                positions[index] = value.position
            }
            if let mapped { mapped.take(name, value) }
        }
    }

    subscript(name: Name) -> JSONValue? { value(at: NameTable.index(of: name)) }

    func value(at index: Int) -> JSONValue? {
        let position = positions[index]
        return position == 0 ? nil : object?.value(at: position)
    }
}
