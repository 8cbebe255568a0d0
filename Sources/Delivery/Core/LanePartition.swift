import Deliveries

/// A partition that this process owns. Changed in place: to copy it in and out of a dictionary costs more than the change.
final class LanePartition {
    enum Phase: Equatable {
        /// The retry topics are read for what waits.
        case recalling
        /// Until a transaction has committed that it is not clean.
        case opening
        case active
        case revoking(until: WallTime)
        /// Until a transaction has committed its last offsets.
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
    /// By the places of the topics.
    var streams: [OpenOffsets]
    /// What is unfinished below these offsets of the streams may have been sent by an owner that did not end it.
    var doubtedBelow: [Int64]
    /// Of each kind of pushes: one may overtake another only of the other kind.
    var orders: [DeviceOrder]
    /// What the group has.
    var committed: [LaneOffset]

    init(streams: [OpenOffsets], doubtedBelow: [Int64], committed: [LaneOffset]) {
        self.streams = streams
        orders = PushKind.allCases.map { _ in DeviceOrder() }
        self.doubtedBelow = doubtedBelow
        self.committed = committed
    }

    /// Whether something is left that an earlier owner may have sent.
    var isDoubted: Bool { zip(streams, doubtedBelow).contains { $0.first < $1 } }
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
    /// Up to when ``RetryNote/used`` counts.
    var usedUntil: WallTime
    /// Whether it is among the ready ones or in flight.
    var isQueued = false
    var isInFlight = false
    /// Whether it has been sent again with a new token.
    var isRefreshed = false
    /// Whether an earlier owner may have sent it.
    var isInDoubt = false

    init(_ record: LaneRecord, _ note: RetryNote, stream: LaneStream, offset: Int64, usedUntil: WallTime) {
        self.record = record
        self.note = note
        self.stream = stream
        self.offset = offset
        self.usedUntil = usedUntil
    }
}
