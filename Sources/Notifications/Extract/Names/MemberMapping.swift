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
    /// The paths of each key that a file has, in the order in which they are tried.
    package let paths: [String: [String]]

    /// The paths of each member, in the order in which they are tried; at most ``maxCount`` in all.
    init(body: [EventMember: [MemberPath]], order: [OrderValue: [MemberPath]]) {
        self.body = MappedNames(body)
        self.order = MappedNames(order)
        let ofBody = body.map { ($0.key.rawValue, $0.value.map(\.text)) }
        let ofOrder = order.map { (Self.prefix + $0.key.rawValue, $0.value.map(\.text)) }
        paths = Dictionary(uniqueKeysWithValues: ofBody + ofOrder)
    }

    /// What differs from the default, for the hash of the rules.
    package var description: [String] {
        Self.keys.flatMap { key in (paths[key] ?? []).map { "member=\(key):\($0)" } }
    }

    /// The names that were found, each with its key: `order.id=orderId`, with commas between.
    package func text(of found: MappedNamesFound) -> String {
        let inBody = EventMember.allCases.flatMap { member in
            (body?.texts(of: member, among: found.body) ?? []).map { "\(member.rawValue)=\($0)" }
        }
        let inOrder = OrderValue.allCases.flatMap { member in
            (order?.texts(of: member, among: found.order) ?? []).map { "\(Self.prefix)\(member.rawValue)=\($0)" }
        }
        return (inBody + inOrder).joined(separator: ",")
    }

    /// What the keys of members of an order begin with.
    static let prefix = "order."

    /// Every key that a file may have.
    package static let keys =
        EventMember.allCases.map(\.rawValue) + OrderValue.allCases.map { prefix + $0.rawValue }
}
