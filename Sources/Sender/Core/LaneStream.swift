/// Whose pushes a dispatch topic has. Each kind has a dispatch topic and retry topics of its own.
package enum PushKind: CaseIterable, Sendable {
    /// Of orders and of requests.
    case orders
    case broadcasts

    /// Its index in lists that have one element for each kind.
    var index: Int {
        switch self {
        case .orders: 0
        case .broadcasts: 1
        }
    }
}

/// A topic that a lane reads.
package enum LaneStream: Hashable, Sendable {
    case dispatch(PushKind)
    /// A retry topic, by its index in the configuration.
    case tier(PushKind, Int)

    var kind: PushKind {
        switch self {
        case .dispatch(let kind), .tier(let kind, _): kind
        }
    }

    /// The index of a retry topic; nil of a dispatch topic.
    var tier: Int? {
        switch self {
        case .dispatch: nil
        case .tier(_, let tier): tier
        }
    }

    /// Its index in the list of a partition's offsets: the dispatch topic and its retry topics, kind by kind.
    ///
    /// - Parameter tiers: how many retry topics each kind has.
    func index(tiers: Int) -> Int { kind.index * (tiers + 1) + (tier.map { $0 + 1 } ?? 0) }

    /// Every topic of these kinds, in the order of their indices.
    package static func all(of kinds: [PushKind], tiers: Int) -> [LaneStream] {
        kinds.flatMap { kind in [.dispatch(kind)] + (0..<tiers).map { .tier(kind, $0) } }
    }
}
