/// One thing that is wrong with a value: where, what was found, and what is allowed.
public struct FieldProblem: Hashable, Sendable, CustomStringConvertible {
    /// The field's name on the wire or in the configuration, such as `delivery_date`.
    public var field: String
    /// Empty if the field is missing or empty.
    public var found: String
    /// As a phrase that follows "must be".
    public var allowed: String

    public init(field: String, found: String, allowed: String) {
        self.field = field
        self.found = found
        self.allowed = allowed
    }

    public var description: String {
        found.isEmpty ? "\(field) is missing; it must be \(allowed)" : "\(field) is \"\(found)\"; it must be \(allowed)"
    }
}
