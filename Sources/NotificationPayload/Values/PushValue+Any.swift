extension PushValue {
    /// Converts what a system hands to the app as `Any`, such as a member of APNs's `userInfo`: strings, booleans,
    /// numbers, arrays, dictionaries with string keys, and what Objective-C has for them.
    ///
    /// - Returns: nil for any other type, a number that is not finite, and what is nested more than 64 deep. Elements
    ///   and members that cannot be converted are left out.
    public init?(any value: Any) {
        self.init(any: value, depth: 0)
    }

    /// - Parameter depth: the number of arrays and dictionaries around the value.
    private init?(any value: Any, depth: Int) {
        if let known = value as? PushValue {
            self = known
        } else if let text = value as? String {
            self = .string(text)
        } else if let scalar = Self.scalar(value) {
            self = scalar
        } else if depth < Self.maxDepth, let members = value as? [AnyHashable: Any] {
            self = .object(Self.members(members, depth: depth + 1))
        } else if depth < Self.maxDepth, let elements = value as? [Any] {
            self = .array(elements.compactMap { PushValue(any: $0, depth: depth + 1) })
        } else if Self.isNull(value) {
            self = .null
        } else {
            return nil
        }
    }

    /// The members of a dictionary whose keys are strings and whose values can be converted.
    static func members(_ members: [AnyHashable: Any], depth: Int = 1) -> [String: PushValue] {
        var converted: [String: PushValue] = [:]
        for (key, value) in members {
            if let name = key as? String, let value = PushValue(any: value, depth: depth) {
                converted[name] = value
            }
        }
        return converted
    }

    private static func scalar(_ value: Any) -> PushValue? {
        // Objective-C's 1 also casts to Bool, and its `true` to Int: only the name of the class tells them apart.
        if value is Bool, type(of: value) == Bool.self || className(value).hasSuffix("Boolean") {
            return (value as? Bool).map(PushValue.bool)
        }
        if let number = value as? any BinaryInteger { return .number("\(number)") }
        if let number = value as? Int64 { return .number("\(number)") }
        if let number = value as? UInt64 { return .number("\(number)") }
        // By its text, not by a conversion to an integer: that calls C's `trunc`, and nothing here links it.
        guard let double = value as? Double ?? (value as? Float).map({ Double($0) }), double.isFinite else {
            return nil
        }
        let text = "\(double)"
        return .number(text.hasSuffix(".0") ? String(text.dropLast(2)) : text)
    }

    private static func isNull(_ value: Any) -> Bool {
        let mirror = Mirror(reflecting: value)
        return mirror.displayStyle == .optional ? mirror.children.isEmpty : className(value) == "NSNull"
    }

    private static func className(_ value: Any) -> String { String(describing: type(of: value)) }
}
