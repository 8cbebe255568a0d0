import JSONReader
import NotificationPayload

/// Counts which members and types events have: what a shop calls the things that these rules read.
///
/// For a command, not for the hot path: it allocates for each member. Its memory is bounded, whatever the events are.
package struct EventSurvey: ~Copyable {
    /// The most paths, and the most types, that are counted.
    private static let maxPaths = 2_000
    private static let maxTypes = 100
    /// The most names of a path, as in a template of an audience, and the most bytes of a name or a type.
    private static let maxSteps = 8
    private static let maxNameSize = 200

    package private(set) var found = SurveyedEvents()
    private let types: EventTypes
    private var envelopes = EnvelopeReader()
    private var texts = TextArena()
    private let mapped: MappedBuffers

    package init(_ rules: ExtractionRules) {
        types = rules.types
        mapped = MappedBuffers(rules.members)
    }

    /// Counts an event; one that cannot be read counts as nothing.
    package mutating func add(_ value: UnsafeRawBufferPointer?, headers: ArraySlice<EventHeader>) {
        guard let value else { return }
        texts.truncate()
        var attributes = RecordHeaders(headers)
        let names = mapped.body
        let body = try? envelopes.body(of: value, attributes: &attributes, texts: &texts) { EventMembers($0, names) }
        guard let body, let object = body.object else { return }
        found.events += 1
        if body.isEvent { found.eventsWithOrder += 1 }
        if let type = texts.text(body.values(of: .eventType)) ?? attributes.ceType ?? attributes.outboxType {
            found.typed += 1
            if types.type(upstreamName: type) == nil {
                countUnknown(String(decoding: type.prefix(Self.maxNameSize), as: UTF8.self))
            }
        }
        find(in: object, behind: "", steps: 0)
    }

    private mutating func countUnknown(_ type: String) {
        if found.unknownTypes.count < Self.maxTypes || found.unknownTypes[type] != nil {
            found.unknownTypes[type, default: 0] += 1
        } else {
            found.isCut = true
        }
    }

    private mutating func find(in object: JSONValue, behind prefix: String, steps: Int) {
        guard steps < Self.maxSteps else { return }
        var members = object.members
        while let (name, value) = members.next() {
            // Another name can stand in no path.
            guard name.count <= Self.maxNameSize, MemberPath.isName(name.bytes) else { continue }
            add(value, at: prefix + String(name), steps: steps + 1)
        }
    }

    private mutating func add(_ value: JSONValue, at path: String, steps: Int) {
        if value.isObject {
            count(path, .object)
            find(in: value, behind: path + ".", steps: steps)
        } else if value.isArray {
            var elements = value.elements
            while let element = elements.next() {
                count(path, element.isObject ? .objects : .values)
                find(in: element, behind: path + "[*].", steps: steps)
            }
        } else if texts.text(value) != nil {
            count(path, .value)
        }
    }

    /// Counts a path once an event.
    private mutating func count(_ text: String, _ kind: SurveyedPath.Kind) {
        let path = SurveyedPath(text, kind)
        if let known = found.counts[path] {
            if known.last < found.events { found.counts[path] = (known.count + 1, found.events) }
        } else if found.counts.count < Self.maxPaths {
            found.counts[path] = (1, found.events)
        } else {
            found.isCut = true
        }
    }
}

/// What an ``EventSurvey`` has found.
package struct SurveyedEvents: Sendable {
    /// The events that could be read.
    package fileprivate(set) var events = 0
    /// Those with `order`, `orders` or `order_ids`; the body of any other is the order itself (docs/rules.md §5).
    package fileprivate(set) var eventsWithOrder = 0
    /// Those that name a type, in their body or their headers.
    package fileprivate(set) var typed = 0
    /// The events of each type that is not known, by its name as it is written.
    package fileprivate(set) var unknownTypes: [String: Int] = [:]
    /// Whether there were more paths or types than are counted.
    package fileprivate(set) var isCut = false
    /// By path, how many events have it, and which one was the last of them.
    fileprivate var counts: [SurveyedPath: (count: Int, last: Int)] = [:]

    package init() {}

    /// In how many events each path is.
    package var paths: [SurveyedPath: Int] { counts.mapValues(\.count) }
}

/// A path from an event's body, such as `order.id`, and what it leads to. Behind the name of a list stands `[*]`.
package struct SurveyedPath: Hashable, Sendable {
    package enum Kind: Sendable {
        /// A text or a number.
        case value
        /// A list of texts or numbers.
        case values
        case object
        /// A list of objects.
        case objects
    }

    package let text: String
    package let kind: Kind

    package init(_ text: String, _ kind: Kind) {
        self.text = text
        self.kind = kind
    }
}
