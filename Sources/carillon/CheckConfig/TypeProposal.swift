import NotificationPayload

/// A type that the settings do not know, and the name under which `events.types` may declare it.
struct TypeProposal: Encodable {
    /// As events write it.
    var type: String
    var events: Int
    var name: String
    /// The known type that it is but for its spelling: `ORDER_CREATED` for `OrderCreated`.
    var known: String?

    /// The most frequent first.
    static func list(_ types: [String: Int]) -> [TypeProposal] {
        types.map { TypeProposal($0.key, $0.value) }.sorted { ($1.events, $0.type) < ($0.events, $1.type) }
    }

    /// What `events.types` has to say of them: names only where a type does not come under its own.
    static func declarations(_ types: [TypeProposal]) -> [String: [String: [String]]] {
        let unknown = types.filter { $0.known == nil && $0.type.utf8.allSatisfy { (0x21...0x7E).contains($0) } }
        return Dictionary(grouping: unknown, by: \.name).mapValues { types in
            var names: [String: String] = [:]
            for type in types where names[type.compared] == nil { names[type.compared] = type.type }
            return Set(names.keys) == [types[0].name] ? [:] : ["names": names.values.sorted()]
        }
    }

    /// As the rules compare it with its name (docs/rules.md §5).
    private var compared: String {
        let text = Self.segments(of: type).joined(separator: "_").lowercased()
        let isName = type.contains(".") ? text.hasSuffix("_\(name)") : text == "event_\(name)"
        return isName ? name : text
    }

    private init(_ type: String, _ events: Int) {
        self.type = type
        self.events = events
        name = Self.name(of: type)
        let plain = KnownMember.plain(type)
        known = EventType.allCases.map { $0.rawValue.trimmingPrefix("event_").uppercased() }
            .first { plain.hasSuffix(KnownMember.plain($0)) }
    }

    /// Without a version.
    private static func segments(of type: String) -> [Substring] {
        let segments = type.split(separator: ".")
        guard segments.count > 1, let last = segments.last, last.first == "v", last.dropFirst().allSatisfy(\.isNumber)
        else {
            return segments
        }
        return segments.dropLast()
    }

    /// `order_delayed` of `OrderDelayed`, `ORDER-DELAYED` and `com.example.order.delayed.v1`.
    private static func name(of type: String) -> String {
        let segments = segments(of: type)
        let start = segments.lastIndex { $0.lowercased().hasPrefix("order") } ?? max(segments.count - 1, 0)
        let isCamelCase = type.contains(where: \.isLowercase)
        var name = ""
        for letter in segments[start...].joined(separator: "_") {
            let isWord = letter.isASCII && (letter.isLetter || letter.isNumber)
            let begins = !isWord || isCamelCase && letter.isUppercase
            if begins, !name.isEmpty, !name.hasSuffix("_") { name += "_" }
            if isWord { name += letter.lowercased() }
        }
        return name.isEmpty ? "my_event" : name
    }
}
