/// Iterates over the members of an object. A name that occurs twice is returned twice: the last one wins.
public struct JSONMembers {
    @usableFromInline let container: JSONValue
    @usableFromInline var index: Int
    @usableFromInline let end: Int

    @inlinable
    init(_ container: JSONValue, from start: Int, to end: Int) {
        self.container = container
        self.index = start
        self.end = end
    }

    @inlinable
    package mutating func next() -> (name: JSONText, value: JSONValue)? {
        guard index < end else { return nil }
        let name = container.text(at: index)
        let value = JSONValue(tape: container.tape, index: index + 1)
        index = value.end
        return (name, value)
    }
}

/// Iterates over the elements of an array.
public struct JSONElements {
    @usableFromInline let container: JSONValue
    @usableFromInline var index: Int
    @usableFromInline let end: Int

    @inlinable
    init(_ container: JSONValue, from start: Int, to end: Int) {
        self.container = container
        self.index = start
        self.end = end
    }

    @inlinable
    package mutating func next() -> JSONValue? {
        guard index < end else { return nil }
        let value = JSONValue(tape: container.tape, index: index)
        index = value.end
        return value
    }
}
