import Deliveries

/// Records of a topic's partition that were read and cannot be handed in yet: retries that are not due, and records that
/// a full window does not take. In the order of their offsets.
struct PartitionIntake {
    struct Waiting {
        var record: LaneRecord
        /// Of a retry topic.
        var note: RetryNote?
        var offset: Int64
        var appendedAt: WallTime
    }

    private var waiting: [Waiting] = []
    private var next = 0
    private var reached: Int64?

    var isEmpty: Bool { next == waiting.count }
    var first: Waiting? { isEmpty ? nil : waiting[next] }

    mutating func append(_ record: Waiting) { waiting.append(record) }

    /// Everything below this offset was read, and what of it is this lane's waits here.
    mutating func reach(_ offset: Int64) { reached = max(reached ?? offset, offset) }

    /// Up to where everything was read, once nothing waits any longer; nil until then, and afterwards.
    mutating func takeReached() -> Int64? {
        guard isEmpty else { return nil }
        defer { reached = nil }
        return reached
    }

    mutating func removeFirst() {
        next += 1
        guard next == waiting.count || next >= 1_024 else { return }
        waiting.removeFirst(next)
        next = 0
    }
}
