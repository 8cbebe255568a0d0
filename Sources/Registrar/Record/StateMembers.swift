import JSONReader
import Notifications

/// The members of a record that this version has written. Nothing is repaired: a record that is not of its form is none.
struct StateMembers {
    let object: JSONValue

    init(_ object: JSONValue) {
        self.object = object
    }

    /// Nil unless it is an object of this version.
    init?(_ object: JSONValue, version: Int64) {
        guard object.isObject, object.member("version")?.integer == version else { return nil }
        self.object = object
    }

    /// Whether each of these members is absent, or what it has to be.
    func each(_ names: StaticString..., is isRight: (JSONValue) -> Bool) -> Bool {
        names.allSatisfy { object.member($0).map(isRight) ?? true }
    }

    func text(_ name: StaticString) -> ByteText? { object.member(name)?.string.map { ByteText(String($0)) } }
    func integer(_ name: StaticString) -> Int64? { object.member(name)?.integer }
    func time(_ name: StaticString) -> WallTime? { integer(name).map { WallTime(milliseconds: $0) } }

    func one<Value: RawRepresentable<String>>(_ name: StaticString) -> Value? {
        text(name).flatMap { Value(rawValue: $0.text) }
    }

    /// Nil if it is there and no list of texts.
    func texts(_ name: StaticString) -> [ByteText]? { list(name) { $0.string.map { ByteText(String($0)) } } }

    /// Empty where it is absent; nil if it is there and no list of these.
    func list<Element>(_ name: StaticString, of element: (JSONValue) -> Element?) -> [Element]? {
        guard let list = object.member(name) else { return [] }
        guard list.isArray else { return nil }
        var found: [Element] = []
        var elements = list.elements
        while let value = elements.next() {
            guard let value = element(value) else { return nil }
            found.append(value)
        }
        return found
    }
}

extension Document {
    static func texts(_ texts: [ByteText]) -> Document { .list(texts.map { .text($0.text) }) }
}

/// Members of which those without a value are left out.
struct MemberList {
    private(set) var members: [(name: String, value: Document)] = []

    mutating func add(_ name: String, _ text: ByteText?) { add(name, json: text.map { .text($0.text) }) }
    mutating func add(_ name: String, _ number: Int64?) { add(name, json: number.map(Document.integer)) }
    mutating func add(_ name: String, _ time: WallTime?) { add(name, time?.milliseconds) }
    mutating func add(_ name: String, json value: Document?) {
        if let value { members.append((name, value)) }
    }

    var bytes: [UInt8] { Array(Document.object(members).json.utf8) }
}
