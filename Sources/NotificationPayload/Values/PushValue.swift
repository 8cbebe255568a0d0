/// One value of what a phone receives: JSON, without Foundation.
///
/// FCM's `data` has strings only; an APNs payload may have every case.
public enum PushValue: Hashable, Sendable {
    case null
    case bool(Bool)
    /// The number's JSON text as it was sent, so that no digit is lost. Numbers are equal if their texts are.
    case number(String)
    case string(String)
    case array([PushValue])
    case object([String: PushValue])

    public var string: String? {
        switch self {
        case .string(let text): text
        case .null, .bool, .number, .array, .object: nil
        }
    }

    public var bool: Bool? {
        switch self {
        case .bool(let flag): flag
        case .null, .number, .string, .array, .object: nil
        }
    }

    /// A whole number within `Int`; nil for `1.5`, and for `1.0` and `1e3`, which are not written as whole numbers.
    public var int: Int? {
        switch self {
        case .number(let text): Int(text)
        case .null, .bool, .string, .array, .object: nil
        }
    }

    /// The nearest double, as JavaScript would read the number.
    public var double: Double? {
        switch self {
        case .number(let text): Double(text)
        case .null, .bool, .string, .array, .object: nil
        }
    }

    public var array: [PushValue]? {
        switch self {
        case .array(let elements): elements
        case .null, .bool, .number, .string, .object: nil
        }
    }

    public var object: [String: PushValue]? {
        switch self {
        case .object(let members): members
        case .null, .bool, .number, .string, .array: nil
        }
    }

    /// The value of a member of an object; nil where this is no object, or has no such member.
    public subscript(name: String) -> PushValue? { object?[name] }

    /// The value as FCM's `data` carries it: a string itself, null not at all, anything else as compact JSON.
    public var text: String? {
        switch self {
        case .null: nil
        case .string(let text): text
        case .bool, .number, .array, .object: json
        }
    }

    /// The value where a field of document 1 is expected: a number counts as its text; null, booleans, objects and
    /// arrays count as missing (docs/rules.md §5.2, "Text fields").
    var scalar: String? {
        switch self {
        case .string(let text), .number(let text): text
        case .null, .bool, .array, .object: nil
        }
    }

    /// A ``scalar`` with at least one character.
    var nonEmpty: String? {
        guard let scalar, !scalar.isEmpty else { return nil }
        return scalar
    }
}
