/// The names that a shop has for members of events, which are read beside the known ones (docs/rules.md §5.6). Never
/// changes.
public struct MemberMapping: Sendable {
    /// The most paths of one.
    package static let maxCount = 64

    /// Only the known names: the default.
    public static let none = MemberMapping(body: [:], order: [:])

    /// Those of the event's body and of the order's object; nil without any.
    let body: MappedNames?
    let order: MappedNames?
    /// What differs from the default, for the hash of the rules.
    package let description: [String]

    /// The paths of each member, in the order in which they are tried; at most ``maxCount`` in all.
    init(body: [EventMember: [MemberPath]], order: [OrderValue: [MemberPath]]) {
        self.body = MappedNames(body)
        self.order = MappedNames(order)
        description =
            EventMember.allCases.flatMap { member in
                (body[member] ?? []).map { "member=\(member.rawValue):\($0.text)" }
            }
            + OrderValue.allCases.flatMap { field in
                (order[field] ?? []).map { "member=\(Self.prefix)\(field.rawValue):\($0.text)" }
            }
    }

    /// What the keys of members of an order begin with.
    static let prefix = "order."

    /// Every key that a file may have.
    package static let keys =
        EventMember.allCases.map(\.rawValue) + OrderValue.allCases.map { prefix + $0.rawValue }
}
