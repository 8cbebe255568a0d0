import Pipeline

/// The log of `topic.broadcasts`.
struct TestBroadcasts {
    enum Kind: Hashable {
        case published(audience: String, lifetime: Int64)
        case unreadable
        case cancelled
    }

    struct Entry {
        var offset: Int64
        /// When it was written, also when it was published.
        var time: WallTime
        var id: String
        var kind: Kind

        var audience: String? {
            guard case .published(let audience, _) = kind else { return nil }
            return audience
        }

        /// Whether it can be sent at a time.
        func isValid(at clock: WallTime) -> Bool {
            guard case .published(_, let lifetime) = kind else { return false }
            return time + lifetime > clock
        }

        fileprivate var record: BroadcastRecord? {
            let value: String
            switch kind {
            case .published(let audience, let lifetime):
                value =
                    #"{"actiontype":"non-display","notificationtype":"enable-feature","notificationid":"\#(id)","#
                    + #""expiry":"\#(lifetime)millis","audience":"\#(audience)"}"#
            case .unreadable: value = #"{"actiontype":"other","notificationid":"\#(id)"}"#
            case .cancelled: return nil
            }
            return BroadcastRecord(offset: offset, timestamp: time, key: Array(id.utf8), value: Array(value.utf8))
        }
    }

    private(set) var entries: [Entry] = []

    var end: Int64 { Int64(entries.count) }

    /// - Returns: its offset.
    @discardableResult
    mutating func append(_ id: String, _ kind: Kind, at time: WallTime) -> Int64 {
        entries.append(Entry(offset: end, time: time, id: id, kind: kind))
        return end - 1
    }

    /// The newest record of each id below an end, without tombstones, in the order of their offsets.
    ///
    /// - Parameter oldest: records that were written before are deleted.
    func records(below end: Int64, since oldest: WallTime = 0) -> [BroadcastRecord] {
        var newest: [String: Entry] = [:]
        for entry in entries.prefix(Int(end)) where entry.time >= oldest { newest[entry.id] = entry }
        return newest.values.sorted { $0.offset < $1.offset }.compactMap(\.record)
    }

    /// Whether no other record of its id follows below an end.
    func isNewest(_ entry: Entry, below end: Int64) -> Bool {
        !entries[Int(entry.offset + 1)..<max(Int(entry.offset + 1), Int(end))].contains { $0.id == entry.id }
    }
}
