/// Recognises pushes that arrive again, by their message ids: providers deliver at least once, and a sender that got no
/// answer sends again.
///
/// Keeps the ids of the last pushes, and forgets the oldest first. A value: whoever shares it protects it. Its state is
/// ``ids``; save it where the app may be ended between two pushes.
public struct Deduplicator: Sendable {
    /// How many ids are kept, 1 or more.
    public let capacity: Int
    /// A ring: once it is full, the oldest is at `next`.
    private var ring: [String] = []
    private var next = 0
    private var known: Set<String> = []

    /// - Parameters:
    ///   - capacity: counts as 1 if it is less.
    ///   - ids: what ``ids`` returned before. If there are more than `capacity`, the last ones are kept.
    public init(capacity: Int = 256, ids: [String] = []) {
        self.capacity = max(capacity, 1)
        for id in ids {
            _ = isRepeat(id)
        }
    }

    /// The ids that are kept, the oldest first.
    public var ids: [String] { Array(ring[next...] + ring[..<next]) }

    /// Whether a push with this id was here before; if not, remembers it. O(1).
    ///
    /// - Parameter id: ``ReceivedNotification/messageID``. Without one, or with an empty one, nothing is a repeat.
    public mutating func isRepeat(_ id: String?) -> Bool {
        guard let id, !id.isEmpty else { return false }
        guard known.insert(id).inserted else { return true }
        if ring.count < capacity {
            ring.append(id)
        } else {
            known.remove(ring[next])
            ring[next] = id
            next = (next + 1) % capacity
        }
        return false
    }
}
