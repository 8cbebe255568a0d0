/// How many audiences were left out, by the position of their template in ``AudienceTemplates/all``. Stored inline, since
/// every event may count.
package struct MissingAudiences: Equatable, Sendable {
    private var counts = InlineArray<16, Int>(repeating: 0)
    package private(set) var total = 0

    package subscript(position: Int) -> Int {
        get { counts[position] }
        set {
            total += newValue - counts[position]
            counts[position] = newValue
        }
    }

    package mutating func add(_ other: Self) {
        guard other.total > 0 else { return }
        for position in 0..<AudienceTemplates.maxCount { self[position] += other.counts[position] }
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.total == right.total
            && (0..<AudienceTemplates.maxCount).allSatisfy { left.counts[$0] == right.counts[$0] }
    }
}
