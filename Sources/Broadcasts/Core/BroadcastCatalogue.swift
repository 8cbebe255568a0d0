import Pipeline

/// The broadcasts that are the newest of their id and not cancelled, in the order of their log. One owner.
struct BroadcastCatalogue: ~Copyable {
    /// Everything below this offset of `topic.broadcasts` is known.
    private(set) var reached: Int64 = 0
    private(set) var broadcasts: [StoredBroadcast] = []
    private var byAudience: [ChannelHash: [StoredBroadcast]] = [:]
    private var reader: BroadcastReader

    init(topic: String, settings: RenderSettings) {
        reader = BroadcastReader(topic: topic, settings: settings)
    }

    /// Takes what the topic has now.
    ///
    /// - Parameter records: the newest of each key, without tombstones, in the order of their offsets.
    mutating func update(_ records: [BroadcastRecord], reached: Int64) {
        self.reached = reached
        let known = Dictionary(broadcasts.map { ($0.offset, $0) }) { first, _ in first }
        var found: [StoredBroadcast] = []
        found.reserveCapacity(records.count)
        for record in records { found.append(known[record.offset] ?? reader.read(record)) }
        broadcasts = found
        byAudience.removeAll()
        for broadcast in found {
            if case .published(_, let audience) = broadcast.content {
                byAudience[audience, default: []].append(broadcast)
            }
        }
    }

    /// The broadcast at an offset; nil if it was cancelled or replaced.
    func broadcast(at offset: Int64) -> StoredBroadcast? {
        first(from: offset).flatMap { $0.offset == offset ? $0 : nil }
    }

    /// The first broadcast at an offset or after it.
    func first(from offset: Int64) -> StoredBroadcast? {
        var (low, high) = (0, broadcasts.count)
        while low < high {
            let middle = (low + high) / 2
            if broadcasts[middle].offset < offset { low = middle + 1 } else { high = middle }
        }
        return low < broadcasts.count ? broadcasts[low] : nil
    }

    /// What a joiner of an audience gets: the newest broadcasts below an offset that have not expired, oldest first.
    func late(_ audience: ChannelHash, below offset: Int64, clock: WallTime, limit: Int) -> [StoredBroadcast] {
        guard let all = byAudience[audience], limit > 0 else { return [] }
        return all.filter { broadcast in
            guard broadcast.offset < offset, case .published(let content, _) = broadcast.content else { return false }
            return content.expiresAt > clock
        }.suffix(limit)
    }

    /// The offset of the oldest broadcast that has not expired; the end of the topic if there is none.
    func oldestValid(clock: WallTime) -> Int64 {
        let oldest = broadcasts.first { broadcast in
            guard case .published(let content, _) = broadcast.content else { return false }
            return content.expiresAt > clock
        }
        return oldest?.offset ?? reached
    }
}
