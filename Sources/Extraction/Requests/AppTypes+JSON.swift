import Events
import JSONReader

/// Why types cannot be added: every problem at once.
public struct InvalidAppTypes: Error, Equatable {
    public let problems: [String]
}

extension AppTypes {
    /// Reads `{"LoyaltyPoints":{"fixed":{"view":"points"},"expected":["points"]}}`; both members are optional.
    public init(json: [UInt8]) throws(InvalidAppTypes) {
        var reader = JSONReader()
        let parsed = json.withUnsafeBytes { bytes in
            Result { () throws(JSONError) in try reader.parse(bytes) }
        }
        var parsing = AppTypesParsing()
        switch parsed {
        case .failure: parsing.problems.append("it is no JSON")
        case .success(let value): parsing.read(value)
        }
        guard parsing.problems.isEmpty else { throw InvalidAppTypes(problems: parsing.problems) }
        self.init(added: parsing.types)
    }
}

/// Collects the types of a file, and what is wrong with it.
private struct AppTypesParsing {
    var types: [AppTypes.AppType] = []
    var problems: [String] = []

    mutating func read(_ value: JSONValue) {
        guard value.isObject else {
            problems.append("it is no object")
            return
        }
        var members = value.members
        while let (name, value) = members.next() {
            read(String(name), value)
        }
    }

    private mutating func read(_ name: String, _ value: JSONValue) {
        if name.isEmpty { problems.append("a type has no name") }
        if AppTypes.documented.contains(where: { $0.name == name }) { problems.append("\(name) is a type already") }
        if types.contains(where: { $0.name == name }) { problems.append("\(name) is there twice") }
        guard value.isObject else {
            problems.append("\(name) is no object")
            return
        }
        var fixed: [AppTypes.FixedPair] = []
        var expected: [String] = []
        var members = value.members
        while let (member, value) = members.next() {
            if member == "fixed" {
                fixed = readFixed(value, of: name)
            } else if member == "expected" {
                expected = readExpected(value, of: name)
            } else {
                problems.append("\(name) has '\(String(member))', which is neither fixed nor expected")
            }
        }
        types.append(AppTypes.AppType(name, fixed, expected: expected))
    }

    private mutating func readFixed(_ value: JSONValue, of name: String) -> [AppTypes.FixedPair] {
        guard value.isObject else {
            problems.append("fixed of \(name) is no object")
            return []
        }
        var pairs: [AppTypes.FixedPair] = []
        var members = value.members
        while let (key, value) = members.next() {
            check(key, of: name)
            let key = String(key)
            if pairs.contains(where: { $0.key == key }) { problems.append("\(name) fixes '\(key)' twice") }
            guard let text = value.string else {
                problems.append("the value of '\(key)' of \(name) is no string")
                continue
            }
            pairs.append(AppTypes.FixedPair(key: key, value: String(text)))
        }
        return pairs
    }

    private mutating func readExpected(_ value: JSONValue, of name: String) -> [String] {
        guard value.isArray else {
            problems.append("expected of \(name) is no list")
            return []
        }
        var keys: [String] = []
        var elements = value.elements
        while let element = elements.next() {
            guard let key = element.string else {
                problems.append("expected of \(name) has an entry that is no string")
                continue
            }
            check(key, of: name)
            keys.append(String(key))
        }
        return keys
    }

    private mutating func check(_ key: JSONText, of name: String) {
        if key.count == 0 {
            problems.append("\(name) has an empty key")
        } else if let owner = KeyOwner(of: key.bytes) {
            problems.append("'\(String(key))' of \(name) is reserved for \(owner.name)")
        } else if key == "type" || key == "imageUrl" || key == "order_type" || key == "order_id" {
            problems.append("'\(String(key))' of \(name) is not allowed as a key")
        }
    }
}
