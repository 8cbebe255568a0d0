import JSONReader

/// The names of the members that are of interest in one kind of object.
///
/// The raw values count from 0.
protocol MemberName: RawRepresentable<Int>, CaseIterable {
    var name: StaticString { get }
    /// The names of all cases.
    static var table: NameTable { get }
}

/// The members of an object by their names, found in one walk; of a name that occurs twice the last one counts.
///
/// Keeps positions and not values, and only as many as there are names: a member costs four bytes to move, and not sixteen.
struct Members<Name: MemberName, let nameCount: Int> {
    /// Nil where there is no object.
    let object: JSONValue?
    private var positions = InlineArray<nameCount, UInt32>(repeating: 0)

    /// A value that is no object has no members.
    init(_ object: JSONValue?) {
        self.object = object
        guard var cursor = object?.members else { return }
        let table = Name.table
        while let (name, value) = cursor.next() {
            if let index = table.index(of: name) {
                positions[index] = value.position
            }
        }
    }

    subscript(name: Name) -> JSONValue? {
        let position = positions[name.rawValue]
        return position == 0 ? nil : object?.value(at: position)
    }
}
