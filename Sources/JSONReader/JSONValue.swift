/// A value of a parsed document: its position on simdjson's tape.
///
/// A pointer and an index that own nothing: valid until the next parse of the reader that made it. An optional one is
/// no larger. Walking costs no call and no allocation. simdjson's parse has checked the tape, so its jumps are trusted.
public struct JSONValue {
    @usableFromInline let tape: UnsafePointer<UInt64>
    @usableFromInline let index: Int

    @inlinable
    init(tape: UnsafePointer<UInt64>, index: Int) {
        self.tape = tape
        self.index = index
    }

    @inlinable package var isObject: Bool { tag == UInt8(ascii: "{") }
    @inlinable package var isArray: Bool { tag == UInt8(ascii: "[") }
    @inlinable package var isString: Bool { tag == UInt8(ascii: "\"") }
    @inlinable package var isNumber: Bool {
        tag == UInt8(ascii: "l") || tag == UInt8(ascii: "d") || tag == UInt8(ascii: "u")
    }
    @inlinable package var isNull: Bool { tag == UInt8(ascii: "n") }

    /// The text of a string, unescaped; nil for any other value.
    @inlinable
    package var string: JSONText? {
        isString ? text(at: index) : nil
    }

    /// An integer within Int64, however large; nil for any other value, 2.0 and 2^63 included.
    @inlinable
    package var integer: Int64? {
        tag == UInt8(ascii: "l") ? Int64(bitPattern: tape[index + 1]) : nil
    }

    /// An integer from 2^63 to 2^64 − 1; nil for any other value.
    @inlinable
    package var unsigned: UInt64? {
        tag == UInt8(ascii: "u") ? tape[index + 1] : nil
    }

    /// A number that was written with a point or an exponent, always finite; nil for any other value.
    @inlinable
    package var double: Double? {
        tag == UInt8(ascii: "d") ? Double(bitPattern: tape[index + 1]) : nil
    }

    @inlinable
    package var boolean: Bool? {
        switch tag {
        case UInt8(ascii: "t"): true
        case UInt8(ascii: "f"): false
        default: nil
        }
    }

    /// The members of an object in the order of the document; none for any other value.
    @inlinable
    package var members: JSONMembers {
        isObject ? JSONMembers(self, from: index + 1, to: end - 1) : JSONMembers(self, from: 0, to: 0)
    }

    /// The elements of an array; none for any other value.
    @inlinable
    package var elements: JSONElements {
        isArray ? JSONElements(self, from: index + 1, to: end - 1) : JSONElements(self, from: 0, to: 0)
    }

    /// The member with this name, the last one where there are several, as in JavaScript.
    ///
    /// Walks the whole object. For more than one member of an object, walk ``members`` once.
    @inlinable
    package func member(_ name: StaticString) -> JSONValue? {
        member(UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }

    /// As ``member(_:)`` of a name that is known at run time.
    @inlinable
    package func member(_ name: UnsafeRawBufferPointer) -> JSONValue? {
        var found: JSONValue?
        var cursor = members
        while let member = cursor.next() {
            if member.name == name {
                found = member.value
            }
        }
        return found
    }

    /// Its position in its document, in four bytes; ``value(at:)`` of any value of the document returns it.
    @inlinable package var position: UInt32 { UInt32(truncatingIfNeeded: index) }

    /// The value with this position in this value's document. No value has position 0.
    @inlinable
    package func value(at position: UInt32) -> JSONValue {
        JSONValue(tape: tape, index: Int(position))
    }

    @inlinable var tag: UInt8 { UInt8(truncatingIfNeeded: tape[index] >> 56) }

    /// Where the tape continues after this value.
    @inlinable
    var end: Int {
        switch tag {
        case UInt8(ascii: "{"), UInt8(ascii: "["): Int(UInt32(truncatingIfNeeded: tape[index]))
        case UInt8(ascii: "l"), UInt8(ascii: "u"), UInt8(ascii: "d"): index + 2
        default: index + 1
        }
    }

    @inlinable
    func text(at index: Int) -> JSONText {
        // The first word is the address of the strings (CSimdJSON). There a string is its length, in four bytes of
        // native byte order, then its bytes.
        guard let strings = UnsafeRawPointer(bitPattern: UInt(tape[0])) else {
            return JSONText(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        let start = strings + Int(tape[index] & 0x00FF_FFFF_FFFF_FFFF)
        let count = start.loadUnaligned(as: UInt32.self)
        return JSONText(UnsafeRawBufferPointer(start: start + 4, count: Int(count)))
    }
}
