import JSONReader

/// The names of the members that are of interest in one kind of object.
protocol MemberName: RawRepresentable<Int> {
    init?(_ name: JSONText)
}

/// The members of an object by their names, found in one walk; of a name that occurs twice the last one counts.
///
/// Keeps positions and not values: a hundred bytes to move instead of five hundred.
struct Members<Name: MemberName> {
    /// Nil where there is no object.
    let object: JSONValue?
    private var positions = InlineArray<22, UInt32>(repeating: 0)

    /// A value that is no object has no members.
    init(_ object: JSONValue?) {
        self.object = object
        guard var cursor = object?.members else { return }
        while let (name, value) = cursor.next() {
            if let name = Name(name) {
                positions[name.rawValue] = value.position
            }
        }
    }

    subscript(name: Name) -> JSONValue? {
        let position = positions[name.rawValue]
        return position == 0 ? nil : object?.value(at: position)
    }
}
