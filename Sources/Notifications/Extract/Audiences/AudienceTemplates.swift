import JSONReader
import NotificationPayload

/// The templates of each type of event (docs/rules.md §5.4). Never changes.
public struct AudienceTemplates: Sendable {
    /// The most different ones, of all types.
    package static let maxCount = 16

    /// The types that the settings declare; they come after document 1's.
    package let types: EventTypes
    /// Each once, in the order in which the types first name them.
    package let all: [AudienceTemplate]
    /// By type, document 1's in the order of the cases first, positions in ``all``.
    private let positions: [Int]
    private let ranges: [Range<Int>]
    /// By type, whether there is only the place's, and whether none can do without it.
    private let isPlaceAlone: [Bool]
    private let needsPlace: [Bool]
    /// What differs from the default, for the hash of the rules.
    package let description: [String]

    /// Everyone at the order's place.
    public static let place = AudienceTemplates([.place], [:], .none, all: [.place])

    /// - Parameters:
    ///   - standard: of the types that have none of their own and are not sent by timers, which are for the place.
    ///   - own: of the other types of document 1.
    ///   - types: those that the settings declare, some with templates of their own.
    /// - Throws: ``InvalidForm`` if there are too many, or none of a type.
    public init(
        _ standard: [AudienceTemplate], own: [EventType: [AudienceTemplate]] = [:], types: EventTypes = .none
    ) throws(InvalidForm) {
        var all: [AudienceTemplate] = []
        for list in Self.lists(standard, own, types) {
            for template in list.templates where !all.contains(template) { all.append(template) }
        }
        guard all.count <= Self.maxCount else {
            throw InvalidForm(problems: [
                "there are \(all.count) different templates; at most \(Self.maxCount) are allowed"
            ])
        }
        guard !standard.isEmpty, own.values.allSatisfy({ !$0.isEmpty }) else {
            throw InvalidForm(problems: ["a type has no template"])
        }
        self.init(standard, own, types, all: all)
    }

    private init(
        _ standard: [AudienceTemplate], _ own: [EventType: [AudienceTemplate]], _ types: EventTypes,
        all: [AudienceTemplate]
    ) {
        var positions: [Int] = []
        var ranges: [Range<Int>] = []
        var description: [String] = []
        let lists = Self.lists(standard, own, types)
        for (name, list) in lists {
            let first = positions.count
            positions += list.compactMap { all.firstIndex(of: $0) }
            ranges.append(first..<positions.count)
            if list != [.place] {
                description.append("audiences.\(name)=" + list.map(\.text).joined(separator: ","))
            }
        }
        self.all = all
        self.types = types
        self.positions = positions
        self.ranges = ranges
        self.description = description
        isPlaceAlone = lists.map { $0.templates == [.place] }
        needsPlace = lists.map { $0.templates.allSatisfy { $0.path == nil } }
    }

    private static func lists(
        _ standard: [AudienceTemplate], _ own: [EventType: [AudienceTemplate]], _ types: EventTypes
    ) -> [(name: String, templates: [AudienceTemplate])] {
        EventType.allCases.map { ($0.rawValue, own[$0] ?? ($0.isSentByTimers ? [.place] : standard)) }
            + types.declared.map { ("event_\($0.name)", $0.audiences ?? standard) }
    }

    /// The place of a type among all.
    private static func index(of type: OrderEventType) -> Int {
        switch type {
        case .known(let type): NameTable.index(of: type)
        case .own(let type): EventType.allCases.count + type.position
        }
    }

    /// The templates that may be counted as missing, by position; none by default, where nothing is resolved.
    package var counted: [String] { all == [.place] ? [] : all.map(\.text) }

    /// Whether a type has only `place/{place_id}`: nothing is resolved then.
    func isPlaceAlone(_ type: OrderEventType) -> Bool { isPlaceAlone[Self.index(of: type)] }

    /// Whether an event of this type has no audience without a place.
    package func needsPlace(_ type: OrderEventType) -> Bool { needsPlace[Self.index(of: type)] }

    func range(of type: OrderEventType) -> Range<Int> { ranges[Self.index(of: type)] }

    /// The position in ``all`` of the template at an index of a type's range.
    func position(_ index: Int) -> Int { positions[index] }

    /// Those templates of a type that name another member than the place.
    package func textsBesidePlace(of type: OrderEventType) -> [String] {
        range(of: type).map { all[positions[$0]] }.filter { $0.path != nil }.map(\.text)
    }

    /// Those audiences of a type that follow from the place alone: all of a timer.
    package func audiences(of type: OrderEventType, atPlace place: String) -> [String] {
        range(of: type).map { all[positions[$0]] }.filter { $0.path == nil }.map { "\($0.kind.prefix)\(place)" }
    }

    /// The templates of a type, as they are written.
    package func texts(of type: OrderEventType) -> [String] { range(of: type).map { all[positions[$0]].text } }
}
