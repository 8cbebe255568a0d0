import Notifications

/// A partition that this process owns. Changed in place: to copy it in and out of a dictionary costs more than the change.
final class LanePartition {
    enum Phase: Equatable {
        /// The retry topics are read for what waits.
        case recalling
        /// Until a transaction has committed how far it may be sent.
        case opening
        case active
        case revoking(until: WallTime)
        /// Until a transaction has committed its last offsets; clean if this owner has sent nothing that it did not end.
        case closing(isClean: Bool)

        /// Whether it sends, now or soon.
        var maySend: Bool {
            switch self {
            case .recalling, .opening, .active: true
            case .revoking, .closing: false
            }
        }
    }

    var phase = Phase.recalling
    /// By the indices of the topics.
    var streams: [OpenOffsets]
    /// How far each may be sent.
    var bounds: [SendBound]
    /// By the indices of the topics: what is to be read again, since it is its turn, and since it goes on to a retry topic.
    var turns: [WantedOffsets]
    var hops: [WantedOffsets]
    /// Where the windows began when something went on last, and when.
    var hopped: [(from: Int64, at: WallTime)]
    /// Of each kind of pushes: one may overtake another only of the other kind.
    var orders: [DeviceOrder]
    /// Of each kind.
    var sends: [DeviceSends]
    /// Of each kind what waits, or has waited, of each device with each collapse key.
    var keys: [DeviceOrder]
    /// What the group has.
    var committed: [LaneOffset]
    /// What is beyond did not exist when the partition was assigned.
    private let ends: [Int64]

    init(committed: [LaneOffset], ends: [Int64], window: Int) {
        streams = committed.map { OpenOffsets(from: $0, window: window) }
        bounds = zip(committed, ends).map { SendBound(from: $0, end: $1) }
        let hasDoubts = zip(bounds, committed).contains { $0.doubtedBelow > $1.offset }
        sends = PushKind.allCases.map { _ in DeviceSends(hasDoubts: hasDoubts) }
        turns = streams.map { _ in WantedOffsets() }
        hops = turns
        hopped = streams.map { _ in (-1, .epoch) }
        orders = PushKind.allCases.map { _ in DeviceOrder() }
        keys = orders
        self.committed = committed
        self.ends = ends
    }

    /// Whether all was read that an earlier owner may have had in hand before a record of a dispatch topic.
    func hasReached(_ source: Int64, at topicIndex: Int) -> Bool {
        streams[topicIndex].hasReached(min(source, ends[topicIndex]))
    }

    /// Whether a newer push of its device waits with the collapse key of both requests.
    func isSuperseded(_ record: HeldRecord) -> Bool {
        let keys = keys[record.stream.kind.index]
        guard !keys.isEmpty, let collapse = record.collapse else { return false }
        return keys.has(after: record.record.source, record.record.device ^ collapse)
    }

    /// A transaction is taken that has all outcomes.
    func takeOutcomes() {
        let hasDoubts = zip(streams, bounds).contains { $0.first < $1.doubtedBelow }
        for kind in sends.indices {
            sends[kind].take()
            if !hasDoubts { sends[kind].endDoubts() }
        }
    }

    /// Whether an earlier owner may have sent a record, which is the first of its device or waits behind others.
    func isDoubted(_ record: HeldRecord, at topicIndex: Int) -> Bool {
        guard record.offset < bounds[topicIndex].doubtedBelow, !record.isSent else { return false }
        let kind = record.stream.kind.index
        let older = orders[kind].count(before: record.record.source, record.record.device)
        return sends[kind].areDoubted(record.record.device, older: older)
    }
}

/// A record that this process holds, by its dispatch record.
struct HeldKey: Hashable {
    var kind: PushKind
    var partition: Int32
    var source: Int64

    func hash(into hasher: inout Hasher) {
        hasher.combine(partition &* 2 &+ Int32(truncatingIfNeeded: kind.index))
        hasher.combine(source)
    }

    /// Another one of the same topic and partition.
    func with(_ source: Int64) -> HeldKey { HeldKey(kind: kind, partition: partition, source: source) }
}

/// A record that this process holds. Changed in place, as ``LanePartition`` is.
final class HeldRecord {
    let record: LaneRecord
    var note: RetryNote
    /// Where it was read.
    let stream: LaneStream
    let offset: Int64
    /// The collapse key that a request has set.
    private(set) lazy var collapse = record.collapse
    /// Up to when ``RetryNote/used`` counts.
    var usedUntil: WallTime
    /// Whether it is among the ready ones or in flight.
    var isQueued = false
    var isInFlight = false
    /// Whether it has been sent again with a new token.
    var isRefreshed = false
    /// Whether this process has sent it.
    var isSent = false

    init(_ record: LaneRecord, _ note: RetryNote, stream: LaneStream, offset: Int64, usedUntil: WallTime) {
        self.record = record
        self.note = note
        self.stream = stream
        self.offset = offset
        self.usedUntil = usedUntil
    }
}
