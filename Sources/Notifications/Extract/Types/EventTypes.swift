import NotificationPayload

/// The event types that the settings declare beside document 1's (docs/rules.md §5.7). Never changes.
///
/// `@unchecked Sendable`: the bytes of the names never change and are never freed; see ``LastingText``.
public struct EventTypes: @unchecked Sendable {
    /// One of them.
    package struct Declared: Sendable {
        package let type: OwnEventType
        /// Under which it comes, as they are compared; see ``EventType/comparable(_:)``.
        let names: [String]
        let members: [AddedMember]
        /// Nil: those of the types that have none of their own.
        let audiences: [AudienceTemplate]?

        /// Without `event_`.
        package var name: String { String(decoding: type.name.dropFirst("event_".utf8.count), as: UTF8.self) }
    }

    /// A member of the order that the payload copies.
    struct AddedMember: Sendable {
        /// As it is written in the file.
        let text: String
        let path: MemberPath
        /// The payload's.
        let name: String
    }

    /// The largest numbers of types, and of names and members of each.
    static let maxTypes = 32
    static let maxNames = 16
    static let maxMembers = 16

    /// Document 1's alone.
    public static let none = EventTypes([])

    /// By name, each at its own position.
    package let declared: [Declared]
    /// All names with their types, the longest first: of several that an event's ends in, the longest one counts.
    private let names: [(text: UnsafeRawBufferPointer, type: OwnEventType)]
    /// By type, the names of the fields that it adds, and where they come from.
    private let members: [[(name: UnsafeRawBufferPointer, path: MemberPath)]]

    init(_ declared: [Declared]) {
        self.declared = declared
        names = declared.flatMap { each in each.names.map { (LastingText.bytes(of: $0), each.type) } }
            .sorted { $0.0.count > $1.0.count }
        members = declared.map { each in each.members.map { (LastingText.bytes(of: $0.name), $0.path) } }
    }

    /// The type of an upstream's name (docs/rules.md §5).
    func type(upstreamName text: UnsafeRawBufferPointer) -> OrderEventType? {
        let known = EventType(upstreamName: text)
        guard !names.isEmpty else { return known.map { .known($0) } }
        let knownCount = known?.documentCount ?? 0
        let name = EventType.withoutVersion(text)
        for own in names where own.text.count > knownCount && EventType.isEnd(own.text, of: name) {
            return .own(own.type)
        }
        return known.map { .known($0) }
    }

    /// The type that a payload carries in `event_type`.
    package func type(rawValue: String) -> OrderEventType? {
        EventType(rawValue: rawValue).map { .known($0) }
            ?? declared.first { "event_\($0.name)" == rawValue }.map { .own($0.type) }
    }

    /// The fields that a type adds to the payload, and where they come from.
    func members(of type: OwnEventType) -> [(name: UnsafeRawBufferPointer, path: MemberPath)] {
        members[type.position]
    }

    /// For the texts of pushes: the types, and the fields that each adds.
    package var fields: [(type: OwnEventType, members: [String])] {
        declared.map { ($0.type, $0.members.map(\.name)) }
    }

    /// Everything that decides a payload, for the hash of the rules; the audiences are in those of all types.
    package var description: [String] {
        declared.flatMap { each in
            ["event-type=\(each.name)", "order=\(each.type.order.rawValue)", "state=\(each.type.state.rawValue)"]
                + each.names.sorted().map { "name=\($0)" } + each.members.map { "member=\($0.text)" }
        }
    }
}
